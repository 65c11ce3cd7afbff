import { spawn } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createUserFolder, program, type Run, runCommand, type UserFolder } from "./command.test.helper.js";
import { runGateway } from "./running-command.test.helper.js";
import { startProcess } from "./running-process.test.helper.js";
import { smallEntry } from "./small-servers.test.helper.js";
import { hasTerminals } from "./terminal.test.helper.js";

const pollOptions = { timeout: 60_000, interval: 50 };

function runFor({ folder, home, file }: UserFolder, ...argv: string[]): Promise<Run> {
  const env = { HOME: home, PATH: process.env.PATH, PWD: folder };
  return runCommand([...argv, "--config", file, "--trust"], { env });
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
    user.configure({ tools: smallEntry });
    for (const verb of ["tools", "ping", "resources"]) {
      expect(await runFor(user, verb, "toosl")).toMatchObject({ code: 2, stderr: expect.stringContaining("tools") });
    }
  });

  test("prints only JSON with --json, even if the server has none of the requested objects", async () => {
    const user = createUserFolder();
    user.configure({ tools: smallEntry });
    for (const verb of ["resources", "prompts"]) {
      const { code, stdout, stderr } = await runFor(user, verb, "--json");
      expect(code, stderr).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ tools: { [verb]: [] } });
    }
  });

  test("does not warn about the storage of tokens if no server has any", async () => {
    const user = createUserFolder();
    user.configure({ tools: smallEntry });
    const { code, stdout, stderr } = await runFor(user, "auth");
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/^No server here uses OAuth, so no tokens are stored\.\n\nSERVER/);
  });

  test("reports an invalid entry and uses the others", async () => {
    const user = createUserFolder();
    user.configure({ text: "node server.js", good: smallEntry });
    const { code, stdout, stderr } = await runFor(user, "tools");
    expect(code).toBe(1);
    expect(stderr).toContain('The server "text" cannot be used.');
    expect(stdout).toContain("echo");
  });

  test("waits for a silent server for --timeout, including its first response", async () => {
    const user = createUserFolder();
    user.configure({ silent: { type: "http", url: `http://127.0.0.1:${await silentPort()}/mcp` } });
    const { code, stderr } = await runFor(user, "tools", "--allow-insecure-loopback", "--timeout", "500ms");
    expect(code).toBe(1);
    expect(stderr).toContain("within 500 ms");
  });

  test("shows the path of a helper that fails, although the variable with the current folder is called PWD", async () => {
    const user = createUserFolder();
    const helper = join(user.folder, "helper.sh");
    writeFileSync(helper, "#!/bin/sh\nexit 4\n");
    chmodSync(helper, 0o755);
    user.configure({ api: { type: "http", url: "https://127.0.0.1:1/mcp", headersHelper: "helper.sh" } });
    const { code, stderr } = await runFor(user, "tools");
    expect(code).toBe(1);
    expect(stderr).toContain(`The helper of server "api" (${helper}) exited with code 4`);
  });

  test.runIf(process.platform === "linux")("reports that the disk is full", async () => {
    const user = createUserFolder();
    user.configure({ tools: smallEntry });
    const script = `exec "${process.execPath}" "$0" check > /dev/full`;
    const run = startProcess("/bin/sh", ["-c", script, program], { cwd: user.folder, env: { HOME: user.home } });
    expect(await run.ended).toBe(1);
    expect(run.stderr).toBe("wirescope: Cannot write to standard output (ENOSPC).\n");
  });

  test.runIf(hasTerminals)("says at a terminal that the gateway is stopping, and how to end it at once", async () => {
    const user = createUserFolder();
    user.configure({ tools: smallEntry });
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
    user.configure({ tools: smallEntry });
    const options = ["--json", "--log", "json", "--trust", "--config", user.file];
    const up = await runGateway(options, { env: { HOME: user.home, PATH: process.env.PATH } });
    writeFileSync(user.file, '{ "mcpServers": {');
    await expect.poll(() => up.stderr, pollOptions).toContain("The previous configuration stays in use.");
    user.configure({ text: "node server.js" });
    await expect.poll(() => up.stderr, pollOptions).toContain("The entry must be an object, but is a string.");
    expect(await up.stop()).toBe(0);
    const lines = up.stderr.trimEnd().split("\n");
    const defects = lines.map((line) => JSON.parse(line)).filter(({ kind }) => kind === "defect");
    // On a machine without bubblewrap, another one says so.
    expect(defects.map(({ reason }) => reason).filter((reason) => !reason.includes("bubblewrap"))).toEqual([
      expect.stringContaining("The previous configuration stays in use."),
      expect.stringContaining("The entry must be an object, but is a string."),
    ]);
  });
});
