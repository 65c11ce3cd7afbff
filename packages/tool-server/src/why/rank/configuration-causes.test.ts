import { describe, expect, test } from "vitest";
import type { Finding } from "../../config/finding.js";
import type { HelperFacts, TrustFacts } from "../facts.js";
import { configurationCauses } from "./configuration-causes.js";
import { base, refused } from "./facts.test.helper.js";
import { helperCauses } from "./helper-causes.js";

const place = { file: ".mcp.json", line: 8, column: 2 };
const finding = (more: Partial<Finding>): Finding =>
  ({
    code: "url-scheme",
    severity: "error",
    message: "It is wrong.",
    fix: "Correct it.",
    line: 8,
    column: 2,
    ...more,
  }) as Finding;

describe("an entry", () => {
  test.each([
    ["url-scheme", "entry-invalid"],
    ["authorization-scheme", "scheme-missing"],
  ] as const)("[TS-D-WHY-3] against the rule %s is %s, at its place", (code, expected) => {
    expect(configurationCauses({ ...base, findings: [finding({ code })] })).toEqual([
      {
        cause: expected,
        weight: 1,
        message: "It is wrong.",
        evidence: [`The rule ${code}, in line 8.`],
        mend: { what: "Correct it.", place },
      },
    ]);
  });

  test("[TS-D-WHY-3] whose fix begins with what to write gives that apart", () => {
    const write = (fix: string) => configurationCauses({ ...base, findings: [finding({ fix })] })[0]?.mend.write;
    expect(write('Write "https://a.example" instead.')).toBe('"https://a.example"');
    expect(write('Do not write "http".')).toBeUndefined();
  });

  test.each(["warning", "note"] as const)("with a %s is usable", (severity) => {
    expect(configurationCauses({ ...base, findings: [finding({ severity })] })).toEqual([]);
  });
});

describe("the value of a variable", () => {
  const values = (more: Partial<Finding>) => [finding({ code: "variable-unset", variable: "A", ...more })];

  test.each([
    ["variable-unset", "variable-unset"],
    ["variable-empty", "variable-empty"],
    ["variable-white-space", "variable-white-space"],
    ["variable-placeholder", "variable-placeholder"],
    ["authorization-doubled", "scheme-doubled"],
    ["basic-credentials", "credentials-malformed"],
    ["url-scheme", "variable-unusable"],
  ] as const)("[TS-D-WHY-3] against the rule %s is %s", (code, expected) => {
    expect(configurationCauses({ ...base, values: values({ code }) })).toMatchObject([
      { cause: expected, weight: 1, mend: { what: "Correct it.", variable: "A", command: "export A=…", place } },
    ]);
  });

  test("[TS-D-WHY-1] that is only warned of is likely after a refusal, and a note never is", () => {
    const weights = (facts: object) => configurationCauses({ ...base, ...facts }).map(({ weight }) => weight);
    const warned = values({ severity: "warning" });
    expect(weights({ values: warned })).toEqual([0.3]);
    expect(weights({ values: warned, attempt: refused(401) })).toEqual([0.93]);
    expect(weights({ values: warned, attempt: { credential: "headers" } })).toEqual([0.3]);
    expect(weights({ values: values({ severity: "note" }), attempt: refused(401) })).toEqual([]);
  });

  test("that comes from no variable is corrected at its place", () => {
    const [cause] = configurationCauses({ ...base, values: values({ variable: undefined }) });
    expect(cause?.mend).toEqual({ what: "Correct it.", place });
  });
});

describe("trust", () => {
  test.each<[TrustFacts["state"], string, string | undefined]>([
    ["new", "not-approved", "wirescope trust api"],
    ["changed", "changed-since-approval", "wirescope trust api"],
    ["denied", "denied-by-policy", undefined],
    ["unreadable", "trust-unreadable", undefined],
  ])("[TS-D-WHY-3] that is %s is %s", (state, expected, command) => {
    const [cause] = configurationCauses({ ...base, trust: { state, words: "No." } });
    expect(cause).toMatchObject({ cause: expected, weight: 1, message: "No." });
    expect(cause?.evidence).toEqual(["Nothing of the entry was run or connected to."]);
    expect(cause?.mend.command).toBe(command);
    expect(cause?.mend.what).not.toBe("");
  });
});

describe("a helper", () => {
  const places = { ...base.places, headersHelper: { line: 8, column: 2 } };
  const causesOf = (helper: Partial<HelperFacts>) =>
    helperCauses({
      ...base,
      places,
      helper: { path: "/my plugin/h.sh", outcome: "exited", durationMs: 1, headers: [], ...helper },
    });

  test.each<[NonNullable<HelperFacts["failure"]>["code"], HelperFacts["outcome"], string, object]>([
    ["HELPER_NOT_RUNNABLE", "not-found", "helper-missing", { place }],
    ["HELPER_NOT_RUNNABLE", "not-executable", "helper-not-executable", { command: "chmod +x '/my plugin/h.sh'" }],
    ["HELPER_TIMEOUT", "timed-out", "helper-timeout", { command: "time '/my plugin/h.sh'" }],
    ["HELPER_OUTPUT_INVALID", "exited", "helper-output-invalid", { command: "'/my plugin/h.sh'" }],
    ["HELPER_FAILED", "exited", "helper-failed", { command: "'/my plugin/h.sh'" }],
  ])("[TS-D-WHY-3] with %s (%s) is %s", (code, outcome, expected, mend) => {
    expect(causesOf({ outcome, failure: { code, message: "No." } })).toMatchObject([
      { cause: expected, weight: 1, message: "No.", evidence: ["The helper is /my plugin/h.sh."], mend },
    ]);
  });

  test("that gave its headers is no cause", () => {
    expect(causesOf({})).toEqual([]);
    expect(helperCauses(base)).toEqual([]);
  });
});
