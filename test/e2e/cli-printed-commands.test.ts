import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createUserFolder, runCommand } from "./command.test.helper.js";
import { paste, workIn } from "./pasted-command.test.helper.js";
import { runGateway } from "./running-command.test.helper.js";
import { endOf, startProcess } from "./running-process.test.helper.js";
import { smallEntry } from "./small-servers.test.helper.js";

test("commands that are printed with --endpoint work in a folder with another configuration", async () => {
  const user = createUserFolder();
  const other = createUserFolder();
  const busy = createServer((_, response) => void response.writeHead(503).end());
  await new Promise<void>((resolve) => busy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void busy.close());
  user.configure({ ledger: { url: `http://127.0.0.1:${(busy.address() as AddressInfo).port}/mcp` } });
  other.configure({ unrelated: { command: "/nowhere/at-all" } });
  const env = { HOME: user.home, PATH: process.env.PATH ?? "" };
  await runGateway(["--log", "off", "--trust", "--allow-insecure-loopback", "--config", user.file], { env });
  workIn(other.folder);

  for (const verb of ["status", "reconnect"]) {
    const { stdout } = await runCommand([verb, "--endpoint"], { env });
    expect(stdout, verb).toMatch(/ wirescope why ledger --endpoint$/m);
  }
  const { code, stdout } = await paste("wirescope why ledger --endpoint", env);
  expect(code).toBe(1);
  expect(stdout).toContain("wirescope reconnect ledger --endpoint");
  expect(await paste("wirescope reconnect ledger --endpoint", env)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("ledger is not connected."),
  });
});

test("a tool of the gateway is printed with a command that calls it through the gateway", async () => {
  const user = createUserFolder();
  user.configure({ small: smallEntry });
  const env = { HOME: user.home, PATH: process.env.PATH ?? "" };
  workIn(user.folder);
  await runGateway(["--log", "off", "--trust"], { env });
  const { stdout } = await runCommand(["tools", "small", "get-sum", "--endpoint"], { env });
  const command = /wirescope call .*/.exec(stdout)?.[0] ?? "";
  expect(command).toContain("--endpoint");
  expect(await paste(command, env)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("The sum of 1 and 1 is 2."),
  });
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
  const { stdout } = await runCommand(["why", "notes", "--trust", "--json", "--config", user.file], { env: shell });
  expect(stdout).not.toContain("hunter2");
  const command = /"(cd [^"]*)"/.exec(stdout)?.[1] ?? "";
  expect(command).toContain("MODE=… NOTES_TOKEN=… PLAIN=…");
  const byHand = startProcess("/bin/sh", ["-c", command], { cwd: "/", env: shell });
  expect(await endOf(byHand)).toMatchObject({
    code: 3,
    stderr: "in the server with …\n",
  });
});

test("add names the file behind a symbolic link, and can change it", async () => {
  const user = createUserFolder();
  const real = join(user.folder, "my servers.json");
  user.configure({});
  renameSync(user.file, real);
  symlinkSync(real, user.file);
  const env = { HOME: user.home, PATH: process.env.PATH ?? "" };
  workIn(user.folder);
  const { code, stderr } = await paste("wirescope add notes -- /nowhere/at-all", env);
  expect(code).toBe(1);
  expect(stderr).toContain(`or name the file itself: --config '${real}'.`);
  const options = /--config '[^']*'/.exec(stderr)?.[0] ?? "";
  await paste(`wirescope add notes ${options} -- /nowhere/at-all`, env);
  expect(JSON.parse(readFileSync(real, "utf8")).mcpServers).toHaveProperty("notes");
});
