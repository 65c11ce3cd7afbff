import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { createUserFolder, type Run, runCommand, startGateway } from "./command.test.helper.js";

const server = fileURLToPath(new URL("../../packages/cli/bundle/clock-server.mjs", import.meta.url));

// Each command waits for 20 seconds, so they run at the same time.
test("a suspended gateway: some commands continue without it, the others say how to continue it, and that works", async () => {
  const { folder, home, file, configure } = createUserFolder();
  configure({ clock: { command: process.execPath, args: [server] } });
  const env = { PATH: process.env.PATH ?? "", HOME: home };
  const up = await startGateway(["--port", "0", "--log", "off", "--config", file, "--trust"], { env, cwd: folder });
  const run = (...argv: string[]): Promise<Run> => runCommand([...argv, "--config", file], { env });

  up.process.kill("SIGSTOP");
  // A suspended process cannot be ended gently. Runs before the gateway is ended.
  onTestFinished(() => void up.process.kill("SIGCONT"));
  const [reconnected, reloaded, listed] = await Promise.all([run("reconnect"), run("reload"), run("status")]);
  const problem = new RegExp(`The gateway at \\S+ \\(process ${up.process.pid}\\) has not responded for 20 s`);
  for (const { code, stderr } of [reconnected, reloaded]) {
    expect(code).toBe(1);
    expect(stderr).toMatch(problem);
    expect(stderr).not.toMatch(/Continuing|No gateway is running/);
  }
  expect(listed.stderr).toMatch(problem);
  expect(listed.stderr).toContain("Continuing without it.");
  // It is not approved for others than that gateway.
  expect(listed.stdout).toMatch(/clock +not approved/);

  up.process.kill("SIGCONT");
  const continued = await run("reconnect");
  expect(continued).toMatchObject({ code: 0, stderr: "" });
  expect(continued.stdout).toMatch(/^clock is connected/);
});
