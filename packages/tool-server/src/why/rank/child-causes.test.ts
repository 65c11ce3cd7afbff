import { describe, expect, test } from "vitest";
import type { ChildEvidence, FailureEvidence, WalkEvidence } from "../evidence.js";
import { childCauses } from "./child-causes.js";
import { base } from "./evidence.test.helper.js";

const positions = { entry: { line: 3, column: 5 }, command: { line: 4, column: 7 } };
const at = (field: keyof typeof positions) => ({ file: ".mcp.json", ...positions[field] });

function causesOf(child: Partial<ChildEvidence>, failure?: Partial<FailureEvidence>, seen: Partial<WalkEvidence> = {}) {
  const attempt = failure && {
    credential: "environment" as const,
    failure: { code: "CHILD_EXITED" as const, message: "It failed.", ...failure },
  };
  const shown = {
    command: "notes",
    path: "/bin/notes",
    searched: [],
    stderr: [],
    strayOutput: undefined,
    missing: [],
    withheld: [],
  };
  const causes = childCauses({ ...base, type: "stdio", positions, child: { ...shown, ...child }, attempt, ...seen });
  for (const { code, fix } of causes) expect(fix.advice, code).toMatch(/^[A-Z].*\.$/);
  return causes;
}

describe("a command that does not start", () => {
  test("[TS-D-WHY-3] suggests chmod with the quoted path for a command that is not executable", () => {
    const [cause] = causesOf({ notStarted: "not-executable", path: "/opt/my notes" });
    expect(cause).toMatchObject({ code: "command-not-executable", weight: 1, evidence: [] });
    expect(cause?.fix.command).toBe("chmod +x '/opt/my notes'");
    expect(causesOf({ notStarted: "not-executable", path: undefined })[0]?.fix.command).toBe("chmod +x notes");
  });

  test("[TS-D-WHY-3] suggests looking a missing command up, unless it is a path or a whole command line", () => {
    const searched = ["/usr/bin", "/bin"];
    expect(causesOf({ notStarted: "not-found", searched })).toMatchObject([
      {
        code: "command-not-found",
        problem: "The command notes was not found.",
        evidence: ["PATH searched: /usr/bin:/bin"],
        fix: { command: "command -v notes", position: at("command") },
      },
    ]);
    const [path] = causesOf({ notStarted: "not-found", command: "./notes" });
    expect(path).toMatchObject({ evidence: [], fix: { advice: "Write the path of an existing program." } });
    expect(path?.fix.command).toBeUndefined();
    const [line] = causesOf({ notStarted: "not-found", command: "npx notes", searched });
    expect(line?.fix.advice).toContain("each argument into args");
    expect(line?.fix.command).toBeUndefined();
  });

  test("[TS-D-WHY-3] repeats the advice of the failure for a command that the system cannot start", () => {
    const advised = causesOf({ notStarted: "not-started" }, { advice: "Install bubblewrap." });
    expect(advised).toMatchObject([
      {
        code: "command-not-executable",
        problem: "It failed.",
        fix: { advice: "Install bubblewrap.", position: at("command") },
      },
    ]);
    expect(causesOf({ notStarted: "not-started" }, {})).toMatchObject([{ problem: "It failed." }]);
    expect(causesOf({ notStarted: "not-started" })).toMatchObject([
      { problem: "The command notes cannot be started." },
    ]);
    expect(causesOf({ notStarted: "not-found" }, { advice: "Install bubblewrap." })).toMatchObject([
      { code: "command-not-found" },
    ]);
  });
});

describe("a process", () => {
  test("suggests running a process that exited by hand, with its arguments and its last lines", () => {
    const child = { args: ["--db", "my notes"], exit: { kind: "exited", code: 3 }, stderr: ["no database"] } as const;
    expect(causesOf(child, {})).toEqual([
      {
        code: "child-exits",
        weight: 0.9,
        problem: "It failed.",
        evidence: ["The command is /bin/notes.", "It exited with code 3.", "stderr: no database"],
        fix: { advice: "Run the command by hand to see why.", command: "/bin/notes --db 'my notes'" },
      },
    ]);
    const elsewhere = {
      ...child,
      cwd: "/srv/my notes",
      env: [
        { name: "MODE", value: "read only" },
        { name: "NOTES_TOKEN", value: undefined },
      ],
    };
    expect(causesOf(elsewhere, {})[0]?.fix.command).toBe(
      "cd '/srv/my notes' && MODE='read only' NOTES_TOKEN=… /bin/notes --db 'my notes'",
    );
    const odd = { ...child, env: [{ name: "A;B", value: "1" }] };
    expect(causesOf(odd, {})[0]?.fix.command).toBe("env 'A;B=1' /bin/notes --db 'my notes'");
    const killed = causesOf(
      { path: undefined, exit: { kind: "signalled", signal: "SIGKILL" } },
      { code: "CONNECTION_LOST" },
    );
    expect(killed).toMatchObject([
      {
        code: "child-exits",
        weight: 0.8,
        evidence: ["The command is notes.", "It was terminated by SIGKILL.", "It wrote nothing to standard error."],
        fix: { command: "notes" },
      },
    ]);
    expect(causesOf({}, { code: "CALL_TIMEOUT" })[0]?.evidence).toEqual([
      "The command is /bin/notes.",
      "It wrote nothing to standard error.",
    ]);
  });

  test.each([
    ["NOT_A_TOOL_SERVER", "child-logs-to-stdout"],
    ["CALL_TIMEOUT", "child-logs-to-stdout"],
    ["CHILD_EXITED", "child-exits"],
  ] as const)("[TS-D-WHY-2] explains other text on standard output followed by %s as %s", (code, expected) => {
    const [cause] = causesOf({ strayOutput: "Listening" }, { code });
    expect(cause?.code).toBe(expected);
    if (code !== "CHILD_EXITED") expect(cause?.evidence[0]).toBe("The first line on standard output: Listening");
  });

  test.each([
    ["CALL_TIMEOUT", "", "child-silent"],
    ["NOT_A_TOOL_SERVER", "", "response-invalid"],
    ["CALL_REFUSED", "Unsupported protocol version: 1", "version-unsupported"],
    ["CALL_REFUSED", "Unauthorized", "token-refused"],
  ] as const)("[TS-D-WHY-1] explains the failure %s (%s) of a process as %s", (code, said, expected) => {
    expect(causesOf({}, { code, said }).map(({ code }) => code)).toEqual([expected]);
  });

  test("[TS-D-WHY-3] suggests another credential in its variable for a process that rejects it", () => {
    const failure = { code: "CALL_REFUSED", said: "Invalid API key" } as const;
    const inEntry = {
      advice: "Add a credential to env of the entry, or correct the one there.",
      position: at("entry"),
    };
    expect(causesOf({}, failure)[0]?.fix).toEqual(inEntry);
    expect(causesOf({}, failure, { variables: ["LOG_LEVEL"] })[0]?.fix).toEqual(inEntry);
    const [known] = causesOf({}, failure, { variables: ["LOG_LEVEL", "NOTES_KEY"] });
    expect(known?.fix).toMatchObject({ variable: "NOTES_KEY", command: "export NOTES_KEY=…" });
  });

  test.each(["CHILD_EXITED", "CALL_TIMEOUT"] as const)(
    "[TS-D-WHY-3] suggests passing variables on that a process lacks (%s), in the order of its output",
    (code) => {
      const missing = [
        { variable: "A_KEY", isSetHere: true },
        { variable: "B_KEY", isSetHere: false },
      ];
      const [first, second, third] = causesOf({ missing, exit: { kind: "exited", code: 1 } }, { code });
      expect(first).toMatchObject({
        code: "child-lacks-variable",
        weight: 0.95,
        fix: { write: '"env": {"A_KEY": "${A_KEY}"}' },
      });
      expect(first?.fix).not.toHaveProperty("command");
      expect(second).toMatchObject({
        weight: 0.94,
        fix: { command: "export B_KEY=…", variable: "B_KEY", position: at("entry") },
      });
      expect(third?.weight).toBeLessThan(0.94);
    },
  );

  test.each([
    ["it is silent", {}, "CALL_TIMEOUT", 0.93],
    ["it had trouble with the network", { stderr: ["npm error ETIMEDOUT", "npm error"] }, "CHILD_EXITED", 0.93],
    ["a proxy refused it", { stderr: ["got 407"] }, "CHILD_EXITED", 0.93],
    ["it fails otherwise", { stderr: ["no such table"] }, "CHILD_EXITED", 0.5],
    ["it fails with a number that is no status", { stderr: ["line 4030"] }, "CHILD_EXITED", 0.5],
  ] as const)("[TS-D-WHY-1] considers a withheld variable a likely cause if %s", (_, child, code, weight) => {
    const exit = code === "CHILD_EXITED" ? ({ kind: "exited", code: 1 } as const) : undefined;
    const [cause] = causesOf({ withheld: ["HTTPS_PROXY", "NO_PROXY"], exit, ...child }, { code });
    expect(cause).toMatchObject({
      weight,
      fix: { write: '"env": {"HTTPS_PROXY": "${HTTPS_PROXY}"}', position: at("entry") },
    });
    expect(cause?.problem).toContain("did not get HTTPS_PROXY, NO_PROXY:");
  });

  test("finds no cause for a process that did not fail", () => {
    expect(causesOf({})).toEqual([]);
    expect(childCauses({ ...base, type: "stdio" })).toEqual([]);
  });
});
