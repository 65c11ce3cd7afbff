import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createUserFolder, startCommand, type UserFolder } from "./command.test.helper.js";
import { endOf, type RunningProcess } from "./running-process.test.helper.js";

function start({ folder, home }: UserFolder, ...options: string[]): RunningProcess {
  return startCommand(["up", "--stdio", ...options], {
    cwd: folder,
    env: { HOME: home, PATH: process.env.PATH ?? "" },
  });
}

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "an editor", version: "1" } },
};

/** Starts the gateway as a client does, and returns what the handshake gets and what the process says. */
async function shakeHands(user: UserFolder, ...options: string[]) {
  const run = start(user, ...options);
  run.process.stdin?.write(`${JSON.stringify(initialize)}\n`);
  const { code, stdout, stderr } = await endOf(run);
  return { code, stderr, response: JSON.parse(stdout) };
}

test("a client learns why its gateway cannot use the configuration", async () => {
  const user = createUserFolder();
  writeFileSync(user.file, `{ "mcpServers": {\n  oops`);
  const { code, stderr, response } = await shakeHands(user);
  expect(code).toBe(2);
  expect(response).toEqual({
    jsonrpc: "2.0",
    id: 1,
    error: {
      code: -32_000,
      message: expect.stringMatching(/^The gateway cannot start: .*\.mcp\.json:2:\d+: .*wirescope check [^\n]*$/),
    },
  });
  expect(stderr).toContain(`${user.file}:2:`);
  expect(stderr).not.toContain("Connected the client");
  expect(stderr.trim().split("\n")).toHaveLength(1);
});

test("a client learns why its gateway cannot use its settings, options or a missing configuration", async () => {
  const user = createUserFolder();
  const missing = await shakeHands(user, "--config", join(user.folder, "gone.json"));
  expect(missing.response.error.message).toMatch(/^The gateway cannot start: .*gone\.json/);
  user.configure({});
  const wrong = await shakeHands(user, "--port", "1");
  expect(wrong.response.error.message).toContain("--stdio does not listen, so --port has no effect.");
  mkdirSync(join(user.home, ".config/wirescope"), { recursive: true });
  writeFileSync(join(user.home, ".config/wirescope/gateway.json"), "{");
  const settings = await shakeHands(user);
  expect(settings.response.error.message).toMatch(/^The gateway cannot start: .*wirescope\/gateway\.json/);
});

test("ends at once with the reason if the configuration is unusable and no client is there", async () => {
  const user = createUserFolder();
  writeFileSync(user.file, "{");
  const run = start(user);
  run.process.stdin?.end();
  const { code, stdout, stderr } = await endOf(run);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain(`${user.file}:1:`);
});

test("says that it connected the client once its own gateway has responded", async () => {
  const user = createUserFolder();
  user.configure({});
  const run = start(user);
  run.process.stdin?.write(`${JSON.stringify(initialize)}\n`);
  await expect.poll(() => run.stderr).toContain("Connected the client to a new gateway in this process.");
  run.process.stdin?.end();
  expect(await endOf(run)).toMatchObject({ code: 0 });
});
