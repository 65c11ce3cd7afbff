import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createUserFolder, program, startCommand, startGateway } from "./command.test.helper.js";
import { endOf } from "./running-process.test.helper.js";

/** Runs a printed command in a shell, as a user who copied it. */
function paste(command: string, options: { cwd: string; env: Record<string, string> }) {
  const wirescope = `wirescope() { '${process.execPath}' '${program}' "$@"; }`;
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    execFile("/bin/sh", ["-c", `${wirescope}\n${command}`], options, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr }),
    );
  });
}

test("commands that are printed with --endpoint work in a folder with another configuration", async () => {
  const user = createUserFolder();
  const other = createUserFolder();
  const busy = createServer((_, response) => void response.writeHead(503).end());
  await new Promise<void>((resolve) => busy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void busy.close());
  user.configure({ ledger: { url: `http://127.0.0.1:${(busy.address() as AddressInfo).port}/mcp` } });
  other.configure({ unrelated: { command: "/nowhere/at-all" } });
  const env = { HOME: user.home, PATH: process.env.PATH ?? "" };
  await startGateway(["--port", "0", "--log", "off", "--trust", "--allow-insecure-loopback", "--config", user.file], {
    env,
  });
  const here = { cwd: other.folder, env };
  const run = (...argv: string[]) => endOf(startCommand(argv, here));

  for (const verb of ["status", "reconnect"]) {
    const { stdout } = await run(verb, "--endpoint");
    expect(stdout, verb).toMatch(/ wirescope why ledger --endpoint$/m);
  }
  const { code, stdout } = await paste("wirescope why ledger --endpoint", here);
  expect(code).toBe(1);
  expect(stdout).toContain("wirescope reconnect ledger --endpoint");
  expect(await paste("wirescope reconnect ledger --endpoint", here)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("ledger is not connected."),
  });
});

test("a tool of the gateway is printed with a command that calls it through the gateway", async () => {
  const user = createUserFolder();
  const script = join(user.folder, "server.cjs");
  writeFileSync(
    script,
    `const results = {
      initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "notes", version: "1" } },
      "tools/list": { tools: [{ name: "list", inputSchema: { type: "object" } }] },
      "tools/call": { content: [{ type: "text", text: "no notes" }] },
    };
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? {} }));
    });`,
  );
  user.configure({ notes: { command: process.execPath, args: [script] } });
  const here = { cwd: user.folder, env: { HOME: user.home, PATH: process.env.PATH ?? "" } };
  await startGateway(["--port", "0", "--log", "off", "--trust"], here);
  const { stdout } = await endOf(startCommand(["tools", "gateway", "notes__list", "--endpoint"], here));
  const command = /wirescope call .*/.exec(stdout)?.[0] ?? "";
  expect(command).toContain("--endpoint");
  expect(await paste(command, here)).toMatchObject({ code: 0, stdout: expect.stringContaining("no notes") });
});

test("the command of a server that exits can be run by hand from any folder, and shows no secret", async () => {
  const user = createUserFolder();
  const cwd = join(user.folder, "the server");
  mkdirSync(cwd);
  writeFileSync(
    join(cwd, "server.cjs"),
    `console.error("in " + require("node:path").basename(process.cwd()) + " with " + process.env.MODE); process.exit(3);`,
  );
  const env = { MODE: "read only", NOTES_TOKEN: "${SHELL_TOKEN}", PLAIN: "${SHELL_TOKEN}" };
  user.configure({ notes: { command: process.execPath, args: ["server.cjs"], cwd, env } });
  const shell = { HOME: user.home, PATH: process.env.PATH ?? "", SHELL_TOKEN: "hunter2-hunter2-hunter2" };
  const { stdout } = await endOf(startCommand(["why", "notes", "--trust", "--json"], { cwd: user.folder, env: shell }));
  expect(stdout).not.toContain("hunter2");
  const command = /"(cd [^"]*)"/.exec(stdout)?.[1] ?? "";
  expect(command).toContain("NOTES_TOKEN=… PLAIN=…");
  expect(await paste(command, { cwd: "/", env: shell })).toMatchObject({
    code: 3,
    stderr: "in the server with read only\n",
  });
});

test("add names the file behind a symbolic link, and can change it", async () => {
  const user = createUserFolder();
  const real = join(user.folder, "my servers.json");
  user.configure({});
  renameSync(user.file, real);
  symlinkSync(real, user.file);
  const here = { cwd: user.folder, env: { HOME: user.home, PATH: process.env.PATH ?? "" } };
  const { code, stderr } = await paste("wirescope add notes -- /nowhere/at-all", here);
  expect(code).toBe(1);
  expect(stderr).toContain(`or name the file itself: --config '${real}'.`);
  const options = /--config '[^']*'/.exec(stderr)?.[0] ?? "";
  await paste(`wirescope add notes ${options} -- /nowhere/at-all`, here);
  expect(JSON.parse(readFileSync(real, "utf8")).mcpServers).toHaveProperty("notes");
});
