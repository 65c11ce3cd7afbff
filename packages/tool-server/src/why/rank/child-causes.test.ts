import { describe, expect, test } from "vitest";
import type { ChildFacts, WalkFacts } from "../facts.js";
import type { FailureFacts } from "../failure-facts.js";
import { childCauses } from "./child-causes.js";
import { base } from "./facts.test.helper.js";

const places = { entry: { line: 3, column: 5 }, command: { line: 4, column: 7 } };
const at = (field: keyof typeof places) => ({ file: ".mcp.json", ...places[field] });

function causesOf(child: Partial<ChildFacts>, failure?: Partial<FailureFacts>, facts: Partial<WalkFacts> = {}) {
  const attempt = failure && {
    credential: "environment" as const,
    failure: { code: "CHILD_EXITED" as const, message: "It failed.", ...failure },
  };
  const seen = {
    command: "notes",
    path: "/bin/notes",
    searched: [],
    stderr: [],
    stray: undefined,
    missing: [],
    withheld: [],
  };
  return childCauses({ ...base, type: "stdio", places, child: { ...seen, ...child }, attempt, ...facts });
}

describe("a command that does not start", () => {
  test("[TS-D-WHY-3] because it is not executable is made so, by its path in quotes", () => {
    const [cause] = causesOf({ notStarted: "not-executable", path: "/opt/my notes" });
    expect(cause).toMatchObject({ cause: "command-not-executable", weight: 1 });
    expect(cause?.mend.command).toBe("chmod +x '/opt/my notes'");
    expect(causesOf({ notStarted: "not-executable", path: undefined })[0]?.mend.command).toBe("chmod +x notes");
  });

  test("[TS-D-WHY-3] because it is not found is searched for, unless it is a path or a whole command line", () => {
    const searched = ["/usr/bin", "/bin"];
    expect(causesOf({ notStarted: "not-found", searched })).toMatchObject([
      {
        cause: "command-not-found",
        message: "The command notes is not found.",
        evidence: ["PATH was searched: /usr/bin:/bin"],
        mend: { command: "command -v notes", place: at("command") },
      },
    ]);
    const [path] = causesOf({ notStarted: "not-found", command: "./notes" });
    expect(path).toMatchObject({ evidence: [], mend: { what: "Write the path of a program that is there." } });
    expect(path?.mend.command).toBeUndefined();
    const [line] = causesOf({ notStarted: "not-found", command: "npx notes", searched });
    expect(line?.mend.what).toContain("each of its arguments into args");
    expect(line?.mend.command).toBeUndefined();
  });

  test("[TS-D-WHY-3] for a reason of the system is told with the advice of the failure", () => {
    const advised = causesOf({ notStarted: "not-started" }, { advice: "Install bubblewrap." });
    expect(advised).toMatchObject([
      {
        cause: "command-not-executable",
        message: "It failed.",
        mend: { what: "Install bubblewrap.", place: at("command") },
      },
    ]);
    expect(causesOf({ notStarted: "not-started" }, {})).toMatchObject([{ message: "It failed." }]);
    expect(causesOf({ notStarted: "not-found" }, { advice: "Install bubblewrap." })).toMatchObject([
      { cause: "command-not-found" },
    ]);
  });
});

describe("a process", () => {
  test("that ended is run by hand, with its arguments and its last lines", () => {
    const child = { args: ["--db", "my notes"], exit: { kind: "exited", code: 3 }, stderr: ["no database"] } as const;
    expect(causesOf(child, {})).toEqual([
      {
        cause: "child-exits",
        weight: 0.9,
        message: "It failed.",
        evidence: ["It is /bin/notes.", "It ended with code 3.", "stderr: no database"],
        mend: { what: "Run the command by hand to see why.", command: "/bin/notes --db 'my notes'" },
      },
    ]);
    const killed = causesOf(
      { path: undefined, exit: { kind: "signalled", signal: "SIGKILL" } },
      { code: "CONNECTION_LOST" },
    );
    expect(killed).toMatchObject([
      {
        cause: "child-exits",
        weight: 0.8,
        evidence: ["It is notes.", "It was ended by SIGKILL.", "It wrote nothing to standard error."],
      },
    ]);
  });

  test.each([
    ["NOT_A_TOOL_SERVER", "child-logs-to-stdout"],
    ["CALL_TIMEOUT", "child-logs-to-stdout"],
    ["CHILD_EXITED", "child-exits"],
  ] as const)("[TS-D-WHY-2] that wrote something else to standard output, then %s: %s", (code, expected) => {
    const [cause] = causesOf({ stray: "Listening" }, { code });
    expect(cause?.cause).toBe(expected);
    if (code !== "CHILD_EXITED") expect(cause?.evidence[0]).toBe("The first line on its standard output: Listening");
  });

  test.each([
    ["CALL_TIMEOUT", "", "child-silent"],
    ["NOT_A_TOOL_SERVER", "", "answer-invalid"],
    ["CALL_REFUSED", "Unsupported protocol version: 1", "wrong-era"],
    ["CALL_REFUSED", "Unauthorized", "token-refused"],
  ] as const)("[TS-D-WHY-1] whose failure is %s (%s) is %s", (code, said, expected) => {
    expect(causesOf({}, { code, said }).map(({ cause }) => cause)).toEqual([expected]);
  });

  test("[TS-D-WHY-3] that refuses its credential is given one, by the variable that it has", () => {
    const failure = { code: "CALL_REFUSED", said: "Invalid API key" } as const;
    expect(causesOf({}, failure)[0]?.mend).toEqual({ what: "Give it a credential, in env.", place: at("entry") });
    const [known] = causesOf({}, failure, { variables: ["NOTES_KEY"] });
    expect(known?.mend).toMatchObject({ variable: "NOTES_KEY", command: "export NOTES_KEY=…" });
  });

  test.each(["CHILD_EXITED", "CALL_TIMEOUT"] as const)(
    "[TS-D-WHY-3] that lacks variables (%s) gets them by the entry, the first one first",
    (code) => {
      const missing = [
        { variable: "A_KEY", isSetHere: true },
        { variable: "B_KEY", isSetHere: false },
      ];
      const [first, second, third] = causesOf({ missing, exit: { kind: "exited", code: 1 } }, { code });
      expect(first).toMatchObject({
        cause: "child-lacks-variable",
        weight: 0.95,
        mend: { write: '"env": {"A_KEY": "${A_KEY}"}' },
      });
      expect(first?.mend).not.toHaveProperty("command");
      expect(second).toMatchObject({
        weight: 0.94,
        mend: { command: "export B_KEY=…", variable: "B_KEY", place: at("entry") },
      });
      expect(third?.weight).toBeLessThan(0.94);
    },
  );

  test.each([
    ["it is silent", {}, "CALL_TIMEOUT", 0.93],
    ["it had trouble with the network", { stderr: ["npm error ETIMEDOUT"] }, "CHILD_EXITED", 0.93],
    ["a proxy refused it", { stderr: ["got 407"] }, "CHILD_EXITED", 0.93],
    ["it fails otherwise", { stderr: ["no such table"] }, "CHILD_EXITED", 0.5],
    ["it fails with a number that is no status", { stderr: ["line 4030"] }, "CHILD_EXITED", 0.5],
  ] as const)("[TS-D-WHY-1] a variable that was withheld is a likely cause if %s", (_, child, code, weight) => {
    const exit = code === "CHILD_EXITED" ? ({ kind: "exited", code: 1 } as const) : undefined;
    const [cause] = causesOf({ withheld: ["HTTPS_PROXY", "NO_PROXY"], exit, ...child }, { code });
    expect(cause).toMatchObject({
      weight,
      mend: { write: '"env": {"HTTPS_PROXY": "${HTTPS_PROXY}"}', place: at("entry") },
    });
    expect(cause?.message).toContain("did not get HTTPS_PROXY, NO_PROXY:");
  });

  test("that did not fail is no cause", () => {
    expect(causesOf({})).toEqual([]);
    expect(childCauses({ ...base, type: "stdio" })).toEqual([]);
  });
});
