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

/** A server that answers what it is asked; `greeting` is what it does first. */
const server = (greeting = "", version = "2025-06-18") => `
${greeting}
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const result = method === "initialize"
    ? { protocolVersion: "${version}", capabilities: { tools: {} }, serverInfo: { name: "child", version: "1" } }
    : method === "tools/list" ? { tools: [] } : undefined;
  const answer = result ? { result } : { error: { code: -32601, message: "no" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
});`;

describe("a command", () => {
  test("that is not found tells the PATH that was searched", async () => {
    const explained = await explainEntry({ command: "no-such-program" }, { variables: { PATH: "/opt/one:/opt/two" } });
    expect(firstOf(explained)).toMatchObject({
      cause: "command-not-found",
      weight: 1,
      evidence: ["PATH was searched: /opt/one:/opt/two"],
      mend: { command: "command -v no-such-program", place: { line: 4 } },
    });
    expect(outcomesOf(explained)).toMatchObject({ command: "failed", process: "skipped", protocol: "skipped" });
  });

  test("with its arguments in it is told where they belong", async () => {
    const explained = await explainEntry({ command: "npx some-server" });
    expect(firstOf(explained)).toMatchObject({ cause: "command-not-found" });
    expect(firstOf(explained).mend.what).toContain("each of its arguments into args");
  });

  test("that cannot be run is made so", async () => {
    const folder = await createScriptFolder();
    const script = await folder.sh("true");
    await chmod(script, 0o644);
    // Written out, the random name of a folder may be taken for a secret.
    const command = "${HOST_PLUGIN_ROOT}/script.sh";
    const explained = await explainEntry({ command }, { pluginRoot: folder.path });
    expect(firstOf(explained)).toMatchObject({
      cause: "command-not-executable",
      mend: { command: `chmod +x ${join(folder.path, "script.sh")}` },
    });
  });
});

test("[TS-D-STDIO-2] a process that the policy does not let run without a sandbox is told what the sandbox needs", async () => {
  const sandbox = { rule: async () => "required" as const, searchPath: "/nowhere" };
  const explained = await explainEntry(node(server()), { sandbox });
  expect(firstOf(explained)).toMatchObject({
    cause: "command-not-executable",
    message: expect.stringContaining("the policy requires the sandbox"),
    mend: { what: expect.stringMatching(/Install the package bubblewrap|on Linux only/) },
  });
});

describe("a process", () => {
  test("that ends at its start is told with its last words, without secrets", async () => {
    const script = "console.error('no database for ' + process.env.DB_PASSWORD); process.exit(3)";
    const entry = node(script, { env: { DB_PASSWORD: "${DB_PASSWORD}" } });
    const explained = await explainEntry(entry, { variables: { DB_PASSWORD: "a-password-of-mine" } });
    expect(firstOf(explained).cause).toBe("child-exits");
    expect(firstOf(explained).mend.command).toMatch(`${process.execPath} -e `);
    expect(firstOf(explained).evidence).toEqual([
      `It is ${process.execPath}.`,
      "It ended with code 3.",
      "stderr: no database for [redacted]",
    ]);
    expect(outcomesOf(explained)).toMatchObject({ command: "ok", process: "failed", protocol: "skipped" });
  });

  test("that misses a variable is given it by the entry", async () => {
    const script = "console.error('Error: NOTES_API_KEY environment variable is required'); process.exit(1)";
    const explained = await explainEntry(node(script), { variables: { NOTES_API_KEY: "a-key-of-mine" } });
    expect(firstOf(explained)).toMatchObject({
      cause: "child-lacks-variable",
      mend: { place: { line: 3 }, write: '"env": {"NOTES_API_KEY": "${NOTES_API_KEY}"}' },
    });
    expect(firstOf(explained).message).toContain("is set here, but the entry does not pass it on");
    const unset = firstOf(await explainEntry(node(script), { variables: {} }));
    expect(unset.mend.command).toBe("export NOTES_API_KEY=…");
  });

  test("that writes its log to standard output is told the first line", async () => {
    const explained = await explainEntry(node("setInterval(() => console.log('Server listening on 3000'), 50)"), {
      answerMs: 1500,
    });
    expect(firstOf(explained)).toMatchObject({ cause: "child-logs-to-stdout" });
    expect(firstOf(explained).evidence[0]).toContain("Server listening on 3000");
    expect(outcomesOf(explained)).toMatchObject({ process: "ok", protocol: "failed" });
  });

  test("that never answers is told of", async () => {
    const explained = await explainEntry(node("setInterval(() => {}, 1000)"), { answerMs: 1500 });
    expect(firstOf(explained)).toMatchObject({ cause: "child-silent", mend: { place: { line: 4 } } });
  });

  test("that speaks a version which nobody knows is told of", async () => {
    const explained = await explainEntry(node(server("", "1999-01-01")));
    expect(firstOf(explained).cause).toBe("wrong-era");
  });

  test("that refuses its credential in the words of the protocol leads to the variable", async () => {
    const script = `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id } = JSON.parse(line);
      const error = { code: -32001, message: "Invalid API key" };
      console.log(JSON.stringify({ jsonrpc: "2.0", id, error }));
    });`;
    const entry = node(script, { env: { NOTES_API_KEY: "${NOTES_API_KEY}" } });
    const explained = await explainEntry(entry, { variables: { NOTES_API_KEY: "a-key-of-mine" } });
    expect(firstOf(explained)).toMatchObject({ cause: "token-refused", mend: { command: "export NOTES_API_KEY=…" } });
  });

  test("that is well is well, also where a line strayed", async () => {
    const explained = await explainEntry(node(server("console.log('hello')")));
    expect(explained).toMatchObject({ isWell: true, causes: [] });
    expect(explained.steps.at(-1)).toMatchObject({
      step: "protocol",
      evidence: ["child 1, protocol 2025-06-18 (legacy era); 0 tools.", expect.stringContaining("hello")],
    });
    expect(explained.demands.map(({ demand, outcome }) => [demand, outcome])).toEqual([
      ["the command is found and can be run", "ok"],
      ["the process stays", "ok"],
      ["only messages are on its standard output", "failed"],
      ["it speaks the protocol", "ok"],
      ["its version is known", "ok"],
    ]);
  });
});

describe("variables with a credential", () => {
  const variables = { PATH: process.env.PATH, HTTPS_PROXY: "http://me:s3cret-pw@proxy.example:3128" };

  test("that a silent process did not get are named, with what passes them on", async () => {
    const explained = await explainEntry(node("setInterval(() => {}, 1000)"), { variables, answerMs: 500 });
    expect(firstOf(explained)).toMatchObject({
      cause: "child-lacks-variable",
      message: expect.stringContaining("did not get HTTPS_PROXY"),
      mend: { write: '"env": {"HTTPS_PROXY": "${HTTPS_PROXY}"}' },
    });
    expect(JSON.stringify(explained)).not.toContain("s3cret-pw");
  });

  test("are not the first suspect when the process ended for another reason", async () => {
    const script = "console.error('no such table'); process.exit(3)";
    expect(firstOf(await explainEntry(node(script), { variables }))).toMatchObject({ cause: "child-exits" });
  });

  test("are passed on by env", async () => {
    const script = `if (process.env.HTTPS_PROXY === undefined) process.exit(3); ${server()}`;
    const env = { HTTPS_PROXY: "${HTTPS_PROXY}" };
    const { causes } = await explainEntry(node(script, { env }), { variables });
    expect(causes).toEqual([]);
  });
});
