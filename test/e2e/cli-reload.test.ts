import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createUserFolder, runCommand, startGateway } from "./command.test.helper.js";

const pollOptions = { timeout: 60_000, interval: 200 };

test("reload makes the running gateway use the new configuration, and reports one that cannot be read", async () => {
  const home = mkdtempSync(join(tmpdir(), "cli-reload-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const file = join(home, ".mcp.json");
  const configure = (...names: string[]): void => {
    const servers = names.map((name) => [name, { command: "/nowhere/at-all" }]);
    writeFileSync(file, JSON.stringify({ mcpServers: Object.fromEntries(servers) }));
  };
  configure("one");
  const env = {
    HOME: home,
    XDG_RUNTIME_DIR: join(home, "run"),
    XDG_CONFIG_HOME: join(home, "config"),
    XDG_DATA_HOME: join(home, "data"),
  };
  await startGateway(["--port", "0", "--trust", "--config", file], { env });
  const reload = (...args: string[]) => runCommand(["reload", "--config", file, ...args], { env });

  configure("one", "two");
  const first = await reload("--json");
  expect(first).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(first.stdout)).toMatchObject({ servers: ["one", "two"] });

  writeFileSync(file, "{");
  const second = await reload();
  expect(second.code).not.toBe(0);
  expect(second.stderr).toContain("The previous configuration stays in use.");

  configure("two");
  const third = await reload();
  expect(third.stdout).toMatch(/reloaded its configuration. Servers: two\.\n$/);
});

test("[TS-D-ADMIN-11] status says that the gateway cannot use its edited configuration, why and what to do, until it is correct", async () => {
  const user = createUserFolder();
  user.configure({});
  const env = { PATH: process.env.PATH, HOME: user.home };
  await startGateway(["--port", "0", "--trust", "--config", user.file], { env });
  const status = (...args: string[]) => runCommand(["status", "--config", user.file, ...args], { env });
  expect(await status()).toMatchObject({ code: 0, stdout: expect.not.stringContaining("cannot use") });

  writeFileSync(user.file, "{");
  await expect.poll(async () => (await status()).code, pollOptions).toBe(1);
  const broken = await status();
  expect(broken.stdout).toContain(`could not reload its changed configuration. ${user.file}:1:`);
  expect(broken.stdout).toContain("The previous configuration stays in use.");
  expect(broken.stdout).toContain(`wirescope check ${user.file}`);
  expect(JSON.parse((await status("--json")).stdout).reloadFailure).toEqual({
    code: "CONFIGURATION_UNREADABLE",
    message: expect.stringContaining(`${user.file}:1:`),
  });

  user.configure({});
  await expect.poll(async () => (await status()).code, pollOptions).toBe(0);
  expect(JSON.parse((await status("--json")).stdout)).not.toHaveProperty("reloadFailure");
});

test("reload without a gateway says how to start one", async () => {
  const home = mkdtempSync(join(tmpdir(), "cli-reload-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const { code, stderr } = await runCommand(["reload"], { env: { HOME: home, XDG_RUNTIME_DIR: home } });
  expect(code).toBe(2);
  expect(stderr).toContain("No gateway is running with this configuration. Start one with wirescope up,");
});
