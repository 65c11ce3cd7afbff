import { describe, expect, test } from "vitest";
import type { Finding } from "../../config/finding.js";
import type { HelperEvidence, TrustEvidence } from "../evidence.js";
import { configurationCauses, helperCauses } from "./configuration-causes.js";
import { base, refused } from "./evidence.test.helper.js";

const position = { file: ".mcp.json", line: 8, column: 2 };
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
  ] as const)("[TS-D-WHY-3] reports an entry that violates %s as %s, at its position", (code, expected) => {
    expect(configurationCauses({ ...base, findings: [finding({ code })] })).toEqual([
      {
        code: expected,
        weight: 1,
        problem: "It is wrong.",
        evidence: [`Rule ${code}, in line 8.`],
        fix: { advice: "Correct it.", position },
      },
    ]);
  });

  test("[TS-D-WHY-3] separates what to write from the advice", () => {
    const written = (suggested: Finding["suggested"]) =>
      configurationCauses({ ...base, findings: [finding({ suggested })] })[0]?.fix.write;
    expect(written({ write: '"stdio"' })).toBe('"stdio"');
    expect(written({ variable: "A" })).toBeUndefined();
    expect(written(undefined)).toBeUndefined();
  });

  test.each(["warning", "note"] as const)("finds no cause in an entry that has only a %s", (severity) => {
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
  ] as const)("[TS-D-WHY-3] reports a value that violates %s as %s", (code, expected) => {
    expect(configurationCauses({ ...base, values: values({ code }) })).toMatchObject([
      {
        code: expected,
        weight: 1,
        evidence: [`Rule ${code}, for line 8 of the configuration.`],
        fix: { advice: "Correct it.", variable: "A", command: "export A=…", position },
      },
    ]);
  });

  test("[TS-D-WHY-3] fixes a missing input by entering it, not by a variable of the shell", () => {
    const [cause] = configurationCauses({ ...base, values: values({ variable: "input:api-key" }) });
    expect(cause?.fix).toEqual({ advice: "Correct it.", command: "wirescope inputs api-key", position });
  });

  test("[TS-D-WHY-1] considers a value with a warning likely after a refusal, and one with a note never", () => {
    const weights = (seen: object) => configurationCauses({ ...base, ...seen }).map(({ weight }) => weight);
    const warned = values({ severity: "warning" });
    expect(weights({ values: warned })).toEqual([0.3]);
    expect(weights({ values: warned, attempt: refused(401) })).toEqual([0.93]);
    expect(weights({ values: warned, attempt: { credential: "headers" } })).toEqual([0.3]);
    expect(weights({ values: values({ severity: "note" }), attempt: refused(401) })).toEqual([]);
  });

  test("suggests correcting a value without a variable at its position", () => {
    const [cause] = configurationCauses({ ...base, values: values({ variable: undefined }) });
    expect(cause?.fix).toEqual({ advice: "Correct it.", position });
  });
});

describe("trust", () => {
  test.each<[TrustEvidence["state"], string, string | undefined]>([
    ["new", "not-approved", "wirescope trust api"],
    ["changed", "changed-since-approval", "wirescope trust api"],
    ["denied", "denied-by-policy", undefined],
    ["unreadable", "trust-unreadable", undefined],
  ])("[TS-D-WHY-3] reports an entry whose trust is %s as %s", (state, expected, command) => {
    const [cause] = configurationCauses({ ...base, trust: { state, reason: "No." } });
    expect(cause).toMatchObject({ code: expected, weight: 1, problem: "No." });
    expect(cause?.evidence).toEqual(["Nothing in the entry was run or connected to."]);
    expect(cause?.fix.command).toBe(command);
    expect(cause?.fix.advice).toMatch(/^[A-Z].*\.$/);
  });

  test("[TS-D-WHY-3] reports a helper that was deleted as missing, because to approve the entry would not help", () => {
    const trust = { state: "changed", reason: "It has changed.", missingHelper: "headers.sh" } as const;
    const [cause, ...others] = configurationCauses({ ...base, trust });
    expect(cause).toMatchObject({ code: "helper-missing", problem: "The helper headers.sh does not exist." });
    expect(cause?.evidence).toEqual(["It has changed.", "Nothing in the entry was run or connected to."]);
    expect(others).toEqual([]);
  });

  test("finds no cause in an entry whose trust is not known", () => {
    expect(configurationCauses({ ...base, trust: undefined })).toEqual([]);
  });
});

describe("a helper", () => {
  const positions = { ...base.positions, headersHelper: { line: 8, column: 2 } };
  const causesOf = (helper: Partial<HelperEvidence>) =>
    helperCauses({
      ...base,
      positions,
      helper: { path: "/my plugin/h.sh", outcome: "exited", durationMs: 1, headers: [], ...helper },
    });

  test.each<[NonNullable<HelperEvidence["failure"]>["code"], HelperEvidence["outcome"], string, object]>([
    ["HELPER_NOT_RUNNABLE", "not-found", "helper-missing", { position }],
    ["HELPER_NOT_RUNNABLE", "not-executable", "helper-not-executable", { command: "chmod +x '/my plugin/h.sh'" }],
    ["HELPER_TIMEOUT", "timed-out", "helper-timeout", { command: "time '/my plugin/h.sh'" }],
    [
      "HELPER_OUTPUT_INVALID",
      "exited",
      "helper-output-invalid",
      { advice: expect.stringContaining('{"Header-Name": "value"}'), command: "'/my plugin/h.sh'" },
    ],
    ["HELPER_FAILED", "exited", "helper-failed", { command: "'/my plugin/h.sh'" }],
  ])("[TS-D-WHY-3] reports the helper failure %s (%s) as %s", (code, outcome, expected, fix) => {
    expect(causesOf({ outcome, failure: { code, message: "No." } })).toMatchObject([
      { code: expected, weight: 1, problem: "No.", evidence: ["The helper is /my plugin/h.sh."], fix },
    ]);
  });

  test("[TS-D-WHY-3] repeats the advice of the failure for a helper that the system cannot start", () => {
    const advised = (
      code: "HELPER_NOT_RUNNABLE" | "HELPER_FAILED",
      outcome: HelperEvidence["outcome"],
      advice?: string,
    ) => causesOf({ outcome, failure: { code, message: "No.", advice } })[0]?.fix;
    const advice = "Move it out of the hidden folder.";
    expect(advised("HELPER_NOT_RUNNABLE", "hidden", advice)).toEqual({ advice, position });
    expect(advised("HELPER_NOT_RUNNABLE", "hidden")?.command).toBe("chmod +x '/my plugin/h.sh'");
    expect(advised("HELPER_NOT_RUNNABLE", "not-executable", advice)?.command).toBe("chmod +x '/my plugin/h.sh'");
    expect(advised("HELPER_FAILED", "exited", advice)?.advice).toBe(advice);
    expect(advised("HELPER_FAILED", "exited")?.advice).toBe("Run it by hand to see why it fails.");
  });

  test("finds no cause in a helper that returned headers", () => {
    expect(causesOf({})).toEqual([]);
    expect(helperCauses(base)).toEqual([]);
  });
});
