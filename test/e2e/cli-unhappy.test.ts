import { spawn } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createUserFolder, program, startCommand, type UserFolder } from "./command.test.helper.js";
import { everything } from "./real-servers.test.helper.js";
import { type RunningProcess, startProcess } from "./running-process.test.helper.js";
import { hasTerminals } from "./terminal.test.helper.js";

const pollOptions = { timeout: 60_000, interval: 50 };

/** A process that has tools and nothing else. */
const toolsOnly = `
process.stdin.setEncoding("utf8").on("data", (text) => {
  for (const line of text.split("\\n").filter(Boolean)) {
    const { id, method } = JSON.parse(line);
    const results = {
      initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "t", version: "1" } },
      "tools/list": { tools: [] },
    };
    if (id === undefined) continue;
    const outcome = results[method] ? { result: results[method] } : { error: { code: -32601, message: "no" } };
    console.log(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
  }
});`;

function startIn({ folder, home }: UserFolder, ...argv: string[]): RunningProcess {
  return startCommand(argv, { cwd: folder, env: { HOME: home, PATH: process.env.PATH, PWD: folder } });
}

/** A port on which requests are accepted and never get a response. */
async function silentPort(): Promise<number> {
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

describe("error situations", () => {
  test("every command lists the servers if the named one does not exist", async () => {
    const user = createUserFolder();
    user.configure({ tools: { command: process.execPath, args: ["-e", toolsOnly] } });
    for (const verb of ["tools", "ping", "resources"]) {
      const run = startIn(user, verb, "toosl", "--trust");
      expect(await run.ended, run.stderr).toBe(2);
      expect(run.stderr).toContain("tools");
    }
  });

  test("prints only JSON with --json, even if the server has none of the requested objects", async () => {
    const user = createUserFolder();
    user.configure({ tools: { command: process.execPath, args: ["-e", toolsOnly] } });
    const [resources, prompts] = [
      startIn(user, "resources", "--json", "--trust"),
      startIn(user, "prompts", "--json", "--trust"),
    ];
    expect(await resources.ended, resources.stderr).toBe(0);
    expect(JSON.parse(resources.stdout)).toMatchObject({ tools: { resources: [] } });
    expect(await prompts.ended, prompts.stderr).toBe(0);
    expect(JSON.parse(prompts.stdout)).toMatchObject({ tools: { prompts: [] } });
  });

  test("does not warn about the storage of tokens if no server has any", async () => {
    const user = createUserFolder();
    user.configure({ tools: { command: process.execPath, args: ["-e", toolsOnly] } });
    const auth = startIn(user, "auth", "--trust");
    expect(await auth.ended, auth.stderr).toBe(0);
    expect(auth.stdout).toMatch(/^No server here uses OAuth, so no tokens are stored\.\n\nSERVER/);
  });

  test("reports an invalid entry and uses the others", async () => {
    const user = createUserFolder();
    user.configure({ text: "node server.js", good: { command: process.execPath, args: [everything, "stdio"] } });
    const tools = startIn(user, "tools", "--trust");
    expect(await tools.ended).toBe(1);
    expect(tools.stderr).toContain('The entry of the server "text" has errors.');
    expect(tools.stdout).toContain("echo");
  });

  test("waits for a silent server for --timeout, including its first response", async () => {
    const user = createUserFolder();
    user.configure({ silent: { type: "http", url: `http://127.0.0.1:${await silentPort()}/mcp` } });
    const tools = startIn(user, "tools", "--trust", "--allow-insecure-loopback", "--timeout", "500ms");
    expect(await tools.ended).toBe(1);
    expect(tools.stderr).toContain("within 500 ms");
  });

  test("shows the path of a helper that fails, although the variable with the current folder is called PWD", async () => {
    const user = createUserFolder();
    const helper = join(user.folder, "helper.sh");
    writeFileSync(helper, "#!/bin/sh\nexit 4\n");
    chmodSync(helper, 0o755);
    user.configure({ api: { type: "http", url: "https://127.0.0.1:1/mcp", headersHelper: "helper.sh" } });
    const tools = startIn(user, "tools", "--trust");
    expect(await tools.ended).toBe(1);
    expect(tools.stderr).toContain(`The helper of server "api" (${helper}) exited with code 4`);
  });

  test.runIf(process.platform === "linux")("reports that the disk is full", async () => {
    const user = createUserFolder();
    user.configure({ tools: { command: process.execPath, args: ["-e", toolsOnly] } });
    const script = `exec "${process.execPath}" "$0" check > /dev/full`;
    const run = startProcess("/bin/sh", ["-c", script, program], { cwd: user.folder, env: { HOME: user.home } });
    expect(await run.ended).toBe(1);
    expect(run.stderr).toBe("wirescope: Cannot write to standard output (ENOSPC).\n");
  });

  test.runIf(hasTerminals)("says at a terminal that the gateway is stopping, and how to end it at once", async () => {
    const user = createUserFolder();
    user.configure({ tools: { command: process.execPath, args: ["-e", toolsOnly] } });
    const command = [process.execPath, program, "up", "--port", "0", "--trust"].map((word) => `'${word}'`).join(" ");
    const env = { HOME: user.home, PATH: process.env.PATH, TERM: "xterm" };
    const child = spawn("script", ["-qec", `exec ${command}`, "/dev/null"], { cwd: user.folder, env });
    let shown = "";
    child.stdout.on("data", (chunk) => {
      const wasUp = shown.includes("Press Ctrl-C to stop.");
      shown += String(chunk);
      if (!wasUp && shown.includes("Press Ctrl-C to stop.")) child.stdin.write("\x03");
    });
    expect(await new Promise((resolve) => child.once("close", resolve)), shown).toBe(0);
    expect(shown).toContain("Stopping after calls in flight. Press Ctrl-C again to stop now.");
  });

  test("writes only JSON to the JSON log, even if a configuration becomes invalid", async () => {
    const user = createUserFolder();
    user.configure({ tools: { command: process.execPath, args: ["-e", toolsOnly] } });
    const up = startIn(user, "up", "--port", "0", "--trust", "--json", "--log", "json");
    await expect.poll(() => up.stdout, pollOptions).toContain("\n");
    writeFileSync(user.file, '{ "mcpServers": {');
    await expect.poll(() => up.stderr, pollOptions).toContain("The previous configuration stays in use.");
    user.configure({ text: "node server.js" });
    await expect.poll(() => up.stderr, pollOptions).toContain("The entry must be an object, but is a string.");
    up.process.kill("SIGTERM");
    expect(await up.ended).toBe(0);
    const lines = up.stderr.trimEnd().split("\n");
    const defects = lines.map((line) => JSON.parse(line)).filter(({ kind }) => kind === "defect");
    // On a machine without bubblewrap, another one says so.
    expect(defects.map(({ reason }) => reason).filter((reason) => !reason.includes("bubblewrap"))).toEqual([
      expect.stringContaining("The previous configuration stays in use."),
      expect.stringContaining("The entry must be an object, but is a string."),
    ]);
  });
});
