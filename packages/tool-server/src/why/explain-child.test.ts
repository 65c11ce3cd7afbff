import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createScriptFolder } from "../process/temporary-scripts.test.helper.js";
import { explainEntry, firstOf, outcomesOf } from "./explain.test.helper.js";

const node = (script: string, more: Record<string, unknown> = {}) => ({
  command: process.execPath,
  args: ["-e", script],
  ...more,
});

/** A working server; `greeting` runs first. */
const server = (greeting = "", version = "2025-06-18") => `
${greeting}
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const result = method === "initialize"
    ? { protocolVersion: "${version}", capabilities: { tools: {} }, serverInfo: { name: "child", version: "1" } }
    : method === "tools/list" ? { tools: [] } : undefined;
  const outcome = result ? { result } : { error: { code: -32601, message: "no" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
});`;

describe("a command", () => {
  test("reports a command that is not found with the searched PATH", async () => {
    const explained = await explainEntry({ command: "no-such-program" }, { variables: { PATH: "/opt/one:/opt/two" } });
    expect(firstOf(explained)).toMatchObject({
      code: "command-not-found",
      weight: 1,
      evidence: ["PATH searched: /opt/one:/opt/two"],
      fix: { command: "command -v no-such-program", position: { line: 4 } },
    });
    expect(outcomesOf(explained)).toMatchObject({ command: "failed", process: "skipped", protocol: "skipped" });
  });

  test("reports a command that contains its arguments, with where they belong", async () => {
    const explained = await explainEntry({ command: "npx some-server" });
    expect(firstOf(explained)).toMatchObject({ code: "command-not-found" });
    expect(firstOf(explained).fix.advice).toContain("each argument into args");
  });

  test("suggests chmod for a command that is not executable", async () => {
    const folder = await createScriptFolder();
    const script = await folder.sh("true");
    await chmod(script, 0o644);
    // A literal random folder name may be mistaken for a secret.
    const command = "${HOST_PLUGIN_ROOT}/script.sh";
    const explained = await explainEntry({ command }, { pluginRoot: folder.path });
    expect(firstOf(explained)).toMatchObject({
      code: "command-not-executable",
      fix: { command: `chmod +x ${join(folder.path, "script.sh")}` },
    });
  });
});

test("[TS-D-STDIO-2] reports what the sandbox needs if a policy requires a sandbox for a process", async () => {
  const sandbox = { rule: async () => "required" as const, searchPath: "/nowhere" };
  const explained = await explainEntry(node(server()), { sandbox });
  expect(firstOf(explained)).toMatchObject({
    code: "command-not-executable",
    problem: expect.stringContaining("the policy requires the sandbox"),
    fix: { advice: expect.stringMatching(/Install the package bubblewrap|on Linux only/) },
  });
});

describe("a process", () => {
  test("reports a process that exits at its start with its last output, without secrets", async () => {
    const script = "console.error('no database for ' + process.env.DB_PASSWORD); process.exit(3)";
    const entry = node(script, { env: { DB_PASSWORD: "${DB_PASSWORD}" } });
    const explained = await explainEntry(entry, { variables: { DB_PASSWORD: "a-password-of-mine" } });
    expect(firstOf(explained).code).toBe("child-exits");
    expect(firstOf(explained).fix.command).toMatch(`${process.execPath} -e `);
    expect(firstOf(explained).evidence).toEqual([
      `The command is ${process.execPath}.`,
      "It exited with code 3.",
      "stderr: no database for [redacted]",
    ]);
    expect(outcomesOf(explained)).toMatchObject({ command: "ok", process: "failed", protocol: "skipped" });
  });

  test("suggests passing a variable on that the process requires", async () => {
    const script = "console.error('Error: NOTES_API_KEY environment variable is required'); process.exit(1)";
    const explained = await explainEntry(node(script), { variables: { NOTES_API_KEY: "a-key-of-mine" } });
    expect(firstOf(explained)).toMatchObject({
      code: "child-lacks-variable",
      fix: { position: { line: 3 }, write: '"env": {"NOTES_API_KEY": "${NOTES_API_KEY}"}' },
    });
    expect(firstOf(explained).problem).toContain("is set here, but the entry does not pass it on");
    const unset = firstOf(await explainEntry(node(script), { variables: {} }));
    expect(unset.fix.command).toBe("export NOTES_API_KEY=…");
  });

  test.concurrent("reports a process that logs to standard output, with the first line", async () => {
    const explained = await explainEntry(node("setInterval(() => console.log('Server listening on 3000'), 50)"), {
      responseMs: 6000,
    });
    expect(firstOf(explained)).toMatchObject({ code: "child-logs-to-stdout" });
    expect(firstOf(explained).evidence[0]).toContain("Server listening on 3000");
    expect(outcomesOf(explained)).toMatchObject({ process: "ok", protocol: "failed" });
  });

  test.concurrent("reports a process that never responds", async () => {
    const explained = await explainEntry(node("setInterval(() => {}, 1000)"), { responseMs: 6000 });
    expect(firstOf(explained)).toMatchObject({ code: "child-silent", fix: { position: { line: 4 } } });
  });

  test("reports a process with an unknown protocol version", async () => {
    const explained = await explainEntry(node(server("", "1999-01-01")));
    expect(firstOf(explained).code).toBe("version-unsupported");
  });

  test("points to the variable if a process rejects its credential in an error response", async () => {
    const script = `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id } = JSON.parse(line);
      const error = { code: -32001, message: "Invalid API key" };
      console.log(JSON.stringify({ jsonrpc: "2.0", id, error }));
    });`;
    const entry = node(script, { env: { NOTES_API_KEY: "${NOTES_API_KEY}" } });
    const explained = await explainEntry(entry, { variables: { NOTES_API_KEY: "a-key-of-mine" } });
    expect(firstOf(explained)).toMatchObject({ code: "token-refused", fix: { command: "export NOTES_API_KEY=…" } });
  });

  test("reports a process that works as working, even with a stray line", async () => {
    const explained = await explainEntry(node(server("console.log('hello')")));
    expect(explained).toMatchObject({ isWell: true, causes: [] });
    expect(explained.steps.at(-1)).toMatchObject({
      step: "protocol",
      evidence: ["child 1, protocol 2025-06-18 (legacy era); 0 tools.", expect.stringContaining("hello")],
    });
    expect(explained.requirements.map(({ requirement, outcome }) => [requirement, outcome])).toEqual([
      ["the command exists and is executable", "ok"],
      ["the process keeps running", "ok"],
      ["standard output contains only messages", "failed"],
      ["the server speaks the protocol", "ok"],
      ["its protocol version is supported", "ok"],
      ["its tools are valid", "ok"],
    ]);
  });
});

describe("variables with a credential", () => {
  const variables = { PATH: process.env.PATH, HTTPS_PROXY: "http://me:s3cret-pw@proxy.example:3128" };

  test("names the variables that a silent process did not get, with how to pass them on", async () => {
    const explained = await explainEntry(node("setInterval(() => {}, 1000)"), { variables, responseMs: 500 });
    expect(firstOf(explained)).toMatchObject({
      code: "child-lacks-variable",
      problem: expect.stringContaining("did not get HTTPS_PROXY"),
      fix: { write: '"env": {"HTTPS_PROXY": "${HTTPS_PROXY}"}' },
    });
    expect(JSON.stringify(explained)).not.toContain("s3cret-pw");
  });

  test("does not blame withheld variables first if the process exited for another reason", async () => {
    const script = "console.error('no such table'); process.exit(3)";
    expect(firstOf(await explainEntry(node(script), { variables }))).toMatchObject({ code: "child-exits" });
  });

  test("passes a variable with a credential on if env of the entry contains it", async () => {
    const script = `if (process.env.HTTPS_PROXY === undefined) process.exit(3); ${server()}`;
    const env = { HTTPS_PROXY: "${HTTPS_PROXY}" };
    const { causes } = await explainEntry(node(script, { env }), { variables });
    expect(causes).toEqual([]);
  });
});
