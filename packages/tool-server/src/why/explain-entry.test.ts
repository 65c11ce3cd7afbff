import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Clock } from "../clock.js";
import { ToolServerError } from "../errors.js";
import { prepareSandbox } from "../process/sandbox.js";
import { createScriptFolder } from "../process/temporary-scripts.test.helper.js";
import { codesOf, explainEntry, firstOf, outcomesOf, startToolServer, trusted } from "./explain.test.helper.js";

const url = "https://api.example.com/mcp";
const bearer = { type: "http", url, headers: { Authorization: "Bearer ${API_TOKEN}" } };

describe("an entry", () => {
  test("ends the walk at an entry with an error, with its position", async () => {
    const explained = await explainEntry({ type: "http", url, headers: { Host: "example.com" } });
    expect(firstOf(explained)).toMatchObject({
      code: "entry-invalid",
      weight: 1,
      fix: { advice: "Remove it.", position: { file: "/plugin/.mcp.json", line: 7 } },
    });
    expect(outcomesOf(explained)).toMatchObject({ configuration: "failed", trust: "skipped", http: "skipped" });
  });

  test("explains an entry that is not an object", async () => {
    const explained = await explainEntry("https://api.example.com/mcp");
    expect(firstOf(explained)).toMatchObject({ code: "entry-invalid", weight: 1 });
    expect(explained.type).toBeUndefined();
  });

  test("[TS-ERR-2] reports a token without its prefix, with what to write", async () => {
    const explained = await explainEntry(
      { type: "http", url, headers: { Authorization: "${API_TOKEN}" } },
      { variables: { API_TOKEN: "a-token-of-mine" } },
    );
    expect(firstOf(explained)).toMatchObject({
      code: "scheme-missing",
      fix: { position: { line: 7 }, write: '"Bearer ${API_TOKEN}"' },
    });
  });

  test.each([
    ["disabled", { disabled: true }],
    ["enabled", { enabled: false }],
  ])("starts nothing for an entry that the field %s disables, and says how to enable it", async (_, field) => {
    const { path } = await createScriptFolder();
    const witness = join(path, "ran");
    const explained = await explainEntry({ command: "sh", args: ["-c", `touch ${witness}`], ...field });
    expect(explained.isWell).toBe(false);
    expect(codesOf(explained)).toEqual(["entry-disabled"]);
    expect(firstOf(explained)).toMatchObject({
      weight: 1,
      problem: 'The configuration disables the server "api".',
      fix: {
        advice: 'To use it, remove "disabled": true or "enabled": false from its entry.',
        position: { file: "/plugin/.mcp.json", line: 3 },
      },
    });
    expect(outcomesOf(explained)).toMatchObject({ configuration: "failed", trust: "skipped", process: "skipped" });
    expect(explained.steps.flatMap(({ evidence }) => evidence)).toEqual(
      expect.arrayContaining(["It is disabled.", "Not checked because the entry is disabled."]),
    );
    // Fails if the file exists.
    await expect(writeFile(witness, "", { flag: "wx" })).resolves.toBeUndefined();
  });

  test("connects to nothing for a disabled entry with a url", async () => {
    const server = await startToolServer();
    const explained = await explainEntry({ type: "http", url: server.url.href, disabled: true });
    expect(codesOf(explained)).toEqual(["entry-disabled"]);
    expect(server.connections).toBe(0);
  });

  test("throws for an entry that does not exist, and names similar ones", async () => {
    const failing = explainEntry(bearer, { server: "apy" });
    await expect(failing).rejects.toThrow(/The configuration has no server "apy".*Did you mean "api"\?/);
    await expect(failing).rejects.toMatchObject({ code: "SERVER_UNKNOWN" });
  });
});

describe("a variable", () => {
  test.each([
    ["variable-unset", {}],
    ["variable-empty", { API_TOKEN: "" }],
    ["variable-white-space", { API_TOKEN: "a-token-of-mine\n" }],
    ["scheme-doubled", { API_TOKEN: "Bearer a-token-of-mine" }],
    ["variable-unusable", { API_TOKEN: "${OTHER}" }],
  ] as const)("[TS-ERR-2] reports the value of a variable as %s, with how to set it", async (code, variables) => {
    const explained = await explainEntry(bearer, { variables });
    expect(firstOf(explained)).toMatchObject({ code, weight: 1, fix: { command: "export API_TOKEN=…" } });
    expect(outcomesOf(explained)).toMatchObject({ configuration: "ok", variables: "failed", http: "skipped" });
    expect(JSON.stringify(explained)).not.toContain("a-token-of-mine");
  });

  test("[TS-ERR-2] blames a variable that contains a placeholder if the server rejects it", async () => {
    const server = await startToolServer((_, response) => response.writeHead(401).end());
    const explained = await explainEntry(
      { ...bearer, url: server.url.href },
      { variables: { API_TOKEN: "your-token-here" } },
    );
    expect(firstOf(explained)).toMatchObject({
      code: "variable-placeholder",
      fix: { command: "export API_TOKEN=…" },
    });
  });

  test("reports each variable if several are unset", async () => {
    const entry = { type: "http", url, headers: { "X-API-Key": "${API_KEY}", "X-API-Secret": "${API_SECRET}" } };
    const { causes } = await explainEntry(entry, { variables: {} });
    expect(causes.map(({ fix }) => fix.command)).toEqual(["export API_KEY=…", "export API_SECRET=…"]);
  });
});

describe("trust", () => {
  const subject = { fingerprint: { files: [] } } as never;
  const approval = { server: "api" } as never;

  test.each([
    ["not-approved", { state: "new", approval, subject }, "wirescope trust api --config other.json"],
    [
      "changed-since-approval",
      { state: "changed", approval, diff: [], subject },
      "wirescope trust api --config other.json",
    ],
    ["denied-by-policy", { state: "denied", rule: { kind: "others", policy: "/etc/policy.json" } }, undefined],
  ] as const)(
    "[TS-D-WHY-4] ends the walk before anything is run or connected to if the entry is not trusted (%s)",
    async (code, decision, command) => {
      const folder = await createScriptFolder();
      const witness = join(folder.path, "ran");
      await folder.sh(`touch ${witness}; echo '{}'`);
      const server = await startToolServer();
      const explained = await explainEntry(
        { type: "http", url: server.url.href, headersHelper: "${HOST_PLUGIN_ROOT}/script.sh" },
        { pluginRoot: folder.path, evaluateTrust: async () => decision, commandArguments: ["--config", "other.json"] },
      );
      expect(firstOf(explained)).toMatchObject({ code, weight: 1 });
      expect(firstOf(explained).fix.command).toBe(command);
      expect(server.connections).toBe(0);
      await expect(writeFile(witness, "", { flag: "wx" })).resolves.toBeUndefined();
      expect(explained.requirements).toEqual([]);
    },
  );

  test("reports that trust cannot be decided, and runs nothing", async () => {
    const explained = await explainEntry(bearer, {
      variables: { API_TOKEN: "a-token-of-mine" },
      evaluateTrust: async () => {
        throw new ToolServerError("APPROVALS_UNREADABLE", { problem: "The file of approvals is damaged.", advice: "" });
      },
    });
    expect(firstOf(explained)).toMatchObject({
      code: "trust-unreadable",
      problem: "The file of approvals is damaged.",
    });
  });

  test("ends the walk if trust is revoked during it", async () => {
    const server = await startToolServer();
    let asked = 0;
    const explained = await explainEntry(
      { type: "http", url: server.url.href },
      {
        evaluateTrust: async () => {
          asked += 1;
          return asked === 1 ? trusted : { state: "new", approval, subject };
        },
      },
    );
    expect(codesOf(explained)).toEqual(["changed-since-approval"]);
    expect(server.requests).toEqual([]);
  });
});

describe("a helper", () => {
  // A literal random folder name may be mistaken for a secret.
  const headersHelper = "${HOST_PLUGIN_ROOT}/script.sh";
  const entryOf = (serverUrl = url) => ({ type: "http", url: serverUrl, headersHelper });
  /** Time runs forty times as fast, so that a timeout of 10 s takes a moment. */
  const hasty: Clock = {
    now: () => Date.now(),
    after(delayMs, wake) {
      const timer = setTimeout(wake, delayMs / 40);
      return () => clearTimeout(timer);
    },
  };

  test("reports a missing helper with its position", async () => {
    const folder = await createScriptFolder();
    const explained = await explainEntry(entryOf(), { pluginRoot: folder.path });
    expect(firstOf(explained)).toMatchObject({ code: "helper-missing", weight: 1, fix: { position: { line: 6 } } });
    expect(outcomesOf(explained).helper).toBe("failed");
  });

  test("suggests chmod for a helper that is not executable", async () => {
    const folder = await createScriptFolder();
    const helper = await folder.sh("echo '{}'");
    await chmod(helper, 0o644);
    const explained = await explainEntry(entryOf(), { pluginRoot: folder.path });
    expect(firstOf(explained)).toMatchObject({
      code: "helper-not-executable",
      fix: { command: `chmod +x ${helper}` },
    });
  });

  test("suggests running a failing helper by hand, and reports its last output without secrets", async () => {
    const folder = await createScriptFolder();
    const helper = await folder.sh('echo "no session for $MY_TOKEN" >&2; exit 3');
    const explained = await explainEntry(entryOf(), {
      pluginRoot: folder.path,
      variables: { MY_TOKEN: "a-token-of-mine" },
    });
    expect(firstOf(explained)).toMatchObject({ code: "helper-failed", fix: { command: helper } });
    const isSandboxed = !("reason" in (await prepareSandbox({ hidden: [], cwd: "/", hidesProcesses: false })));
    const hint = 'the sandbox may be the reason: turn it off with "sandbox": false.';
    expect(firstOf(explained).fix.advice.includes(hint)).toBe(isSandboxed);
    expect(firstOf(explained).problem).toMatch(
      /exited with code 3; last lines of standard error: "no session for \[redacted\]/,
    );
  });

  test("[TS-D-HELPER-7] reports what the sandbox needs if a policy requires a sandbox for a helper", async () => {
    const folder = await createScriptFolder();
    await folder.sh("echo '{}'");
    const sandbox = { rule: async () => "required" as const, searchPath: "/nowhere" };
    const explained = await explainEntry(entryOf(), { pluginRoot: folder.path, sandbox });
    expect(firstOf(explained)).toMatchObject({
      code: "helper-not-executable",
      problem: expect.stringContaining("the policy requires the sandbox"),
      fix: { advice: expect.stringMatching(/Install the package bubblewrap|on Linux only/) },
    });
  });

  test("reports a helper that prints no headers, with the format", async () => {
    const folder = await createScriptFolder();
    const helper = await folder.sh("echo not json");
    const explained = await explainEntry(entryOf(), { pluginRoot: folder.path });
    expect(firstOf(explained)).toMatchObject({ code: "helper-output-invalid", fix: { command: helper } });
  });

  test("reports a helper that does not end", async () => {
    const folder = await createScriptFolder();
    const helper = await folder.sh("sleep 600");
    const explained = await explainEntry(entryOf(), { pluginRoot: folder.path, clock: hasty, totalMs: 10_000_000 });
    expect(firstOf(explained)).toMatchObject({ code: "helper-timeout", fix: { command: `time ${helper}` } });
  });

  test("continues to the server after a helper that works", async () => {
    const server = await startToolServer();
    const folder = await createScriptFolder();
    await folder.sh(`echo '{"Authorization": "Bearer a-token-of-mine"}'`);
    const explained = await explainEntry(entryOf(server.url.href), { pluginRoot: folder.path });
    expect(explained).toMatchObject({ isWell: true, causes: [] });
    expect(outcomesOf(explained)).toMatchObject({ helper: "ok", credential: "ok", protocol: "ok" });
    expect(server.requests[0]?.headers.authorization).toBe("Bearer a-token-of-mine");
    expect(JSON.stringify(explained)).not.toContain("a-token-of-mine");
  });
});

test("gives a running gateway advice for its own process, not an export command", async () => {
  const entry = { type: "http", url: "https://a.example.com/mcp", headers: { Authorization: "Bearer ${API_TOKEN}" } };
  const setVariable = (name: string): string => `Set ${name} in the file.`;
  const cause = firstOf(await explainEntry(entry, { variables: {}, setVariable }));
  expect(cause).toMatchObject({
    code: "variable-unset",
    fix: { advice: "Set API_TOKEN in the file." },
  });
  expect(cause.fix.command).toBeUndefined();
  expect(firstOf(await explainEntry(entry, { variables: {} })).fix.command).toBe("export API_TOKEN=…");
});

test.each([
  ["headers", "headers.TOKEN", { type: "http", url: "https://a.example.com/mcp" }],
  ["env", "env.TOKEN", { command: "node" }],
])("[TS-D-SECRET-9] explains a secret command of %s that fails", async (field, name, base) => {
  const folder = await createScriptFolder();
  await folder.sh("echo 'not signed in' >&2; exit 6", "op");
  const command = ["./op", "read", "x"];
  const explained = await explainEntry({ ...base, [field]: { TOKEN: { command } } }, { pluginRoot: folder.path });
  const cause = firstOf(explained);
  expect(cause).toMatchObject({
    code: "helper-failed",
    fix: { advice: expect.stringContaining("Run it in a terminal") },
  });
  expect(cause.problem).toContain(
    `The command ./op for ${name} of server "api" exited with code 6; last lines of standard error: "not signed in".`,
  );
});
