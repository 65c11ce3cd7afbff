import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { connectByOptions } from "./connect-by-options.js";
import { connectionOptions } from "./connection-options.js";
import { announceGateway, findGateway, gatewayFile } from "./gateway-file.js";
import { serveProvingGateway } from "./gateway-file.test.helper.js";
import { parseOptions } from "./options.js";

let home: string;
const gateway = await serveProvingGateway();
const running = {
  ...gateway.running,
  token: "secret-token",
  configurations: ["/project/.mcp.json"],
  profile: "development",
};

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "wirescope-gateway-"));
});

afterEach(() => rmSync(home, { recursive: true }));
afterAll(() => gateway[Symbol.asyncDispose]());

test("finds a gateway while it runs, for its own user only", async () => {
  const env = { HOME: home };
  expect(await findGateway(env)).toBeUndefined();
  const withdraw = announceGateway(env, running);
  expect(await findGateway(env)).toEqual(running);
  expect(statSync(gatewayFile(env)).mode & 0o777).toBe(0o600);
  withdraw?.();
  expect(await findGateway(env)).toBeUndefined();
});

test("ignores the file of a gateway that has ended, and does not remove that of a newer gateway", async () => {
  const env = { HOME: home };
  const withdraw = announceGateway(env, { ...running, pid: 2 ** 22 + 1 });
  expect(await findGateway(env)).toBeUndefined();
  announceGateway(env, running);
  withdraw?.();
  expect(await findGateway(env)).toEqual(running);
});

test("finds the last of two gateways, and the first again after the last has ended", async () => {
  const env = { HOME: home };
  const first = { ...running, pid: process.ppid, profile: "first" };
  const takeFirstBack = announceGateway(env, first);
  const withdraw = announceGateway(env, running);
  expect(await findGateway(env)).toEqual(running);
  withdraw?.();
  expect(await findGateway(env)).toEqual(first);
  expect(statSync(gatewayFile(env)).mode & 0o777).toBe(0o600);
  takeFirstBack?.();
  expect(await findGateway(env)).toBeUndefined();
});

test("ignores a file that does not describe a gateway", async () => {
  const env = { XDG_RUNTIME_DIR: home };
  announceGateway(env, running);
  for (const text of ["", "{", "[]", '{"pid": "1"}']) {
    writeFileSync(gatewayFile(env), text);
    expect(await findGateway(env)).toBeUndefined();
  }
  expect(readFileSync(gatewayFile(env), "utf8")).toBe('{"pid": "1"}');
});

test("sends no token to a program that reuses the port of a stopped gateway", async () => {
  await using thief = await serveProvingGateway({ isThief: true });
  const env = { HOME: home };
  // Its process id is in use again, too.
  announceGateway(env, { ...running, ...thief.running, adminToken: "secret-admin-token" });
  expect(await findGateway(env)).toBeUndefined();
  await using _ = await connectByOptions(parseOptions(connectionOptions, []).values, env);
  expect(thief.seen).toHaveLength(2);
  for (const seen of thief.seen) expect(seen).toMatch(/^GET \/\.well-known\/wirescope\?challenge=[\w-]{43} /);
  for (const secret of [running.token, "secret-admin-token", thief.running.proofKey]) {
    expect(thief.seen.join()).not.toContain(secret);
  }
});

test("ignores a gateway file without a proof key", async () => {
  const env = { HOME: home };
  announceGateway(env, { ...running, proofKey: undefined });
  expect(await findGateway(env)).toBeUndefined();
});
