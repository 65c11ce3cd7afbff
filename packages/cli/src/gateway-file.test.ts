import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { ChannelzError } from "@wirescope/channelz/internal";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { completeObjects } from "./completion/complete-objects.js";
import { connectByOptions } from "./connect-by-options.js";
import { connectionOptions } from "./connection-options.js";
import { announceGateway, continueWithout, findGateway, gatewayFile } from "./gateway-file.js";
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
  expect(await findGateway({ env })).toBeUndefined();
  const withdraw = announceGateway(env, running);
  expect(await findGateway({ env })).toEqual(running);
  expect(statSync(gatewayFile(env)).mode & 0o777).toBe(0o600);
  withdraw?.();
  expect(await findGateway({ env })).toBeUndefined();
});

test("ignores the file of a gateway that has ended, and does not remove that of a newer gateway", async () => {
  const env = { HOME: home };
  const withdraw = announceGateway(env, { ...running, pid: 2 ** 22 + 1 });
  expect(await findGateway({ env })).toBeUndefined();
  announceGateway(env, running);
  withdraw?.();
  expect(await findGateway({ env })).toEqual(running);
});

test("finds the last of two gateways, and the first again after the last has ended", async () => {
  const env = { HOME: home };
  const first = { ...running, pid: process.ppid, profile: "first" };
  const takeFirstBack = announceGateway(env, first);
  const withdraw = announceGateway(env, running);
  expect(await findGateway({ env })).toEqual(running);
  withdraw?.();
  expect(await findGateway({ env })).toEqual(first);
  expect(statSync(gatewayFile(env)).mode & 0o777).toBe(0o600);
  takeFirstBack?.();
  expect(await findGateway({ env })).toBeUndefined();
});

test("ignores a file that does not describe a gateway", async () => {
  const env = { XDG_RUNTIME_DIR: home };
  announceGateway(env, running);
  for (const text of ["", "{", "[]", '{"pid": "1"}']) {
    writeFileSync(gatewayFile(env), text);
    expect(await findGateway({ env })).toBeUndefined();
  }
  expect(readFileSync(gatewayFile(env), "utf8")).toBe('{"pid": "1"}');
});

test("sends no token to a program that reuses the port of a stopped gateway", async () => {
  await using thief = await serveProvingGateway({ isThief: true });
  const env = { HOME: home };
  // Its process id is in use again, too.
  announceGateway(env, { ...running, ...thief.running, adminToken: "secret-admin-token" });
  expect(await findGateway({ env })).toBeUndefined();
  await using _ = await connectByOptions(parseOptions(connectionOptions, []).values, { env });
  expect(thief.seen).toHaveLength(2);
  for (const seen of thief.seen) expect(seen).toMatch(/^GET \/\.well-known\/wirescope\?challenge=[\w-]{43} /);
  for (const secret of [running.token, "secret-admin-token", thief.running.proofKey]) {
    expect(thief.seen.join()).not.toContain(secret);
  }
});

test("ignores a gateway file without a proof key", async () => {
  const env = { HOME: home };
  announceGateway(env, { ...running, proofKey: undefined });
  expect(await findGateway({ env })).toBeUndefined();
});

test("says that a gateway does not respond, instead of that none is running", async () => {
  await using stopped = await serveProvingGateway({ isSilent: true });
  const env = { HOME: home };
  announceGateway(env, { ...running, ...stopped.running });
  let written = "";
  const stderr = { write: (text: string) => (written += text) };
  const finding = findGateway({ env, stderr }, { responseMs: 100, noticeMs: 10 });
  await expect(finding).rejects.toMatchObject({
    code: "PEER_UNAVAILABLE",
    message:
      `The gateway at http://${stopped.running.channelz} (process ${process.pid}) has not responded for 0.1 s: it is suspended (Ctrl-Z), or too busy. ` +
      `Continue it with fg in its terminal, or end process ${process.pid} if that is the gateway (kill -9 ${process.pid}), and start it again: wirescope up.`,
  });
  expect(stopped.seen).toHaveLength(1);
  expect(written).toBe(`wirescope: Waiting for the gateway (process ${process.pid}) to respond.\n`);
});

test("waits for a gateway that does not respond no longer than the timeout of a command", async () => {
  await using stopped = await serveProvingGateway({ isSilent: true });
  const env = { HOME: home };
  announceGateway(env, { ...running, ...stopped.running });
  const { values } = parseOptions(connectionOptions, ["--timeout", "50ms"]);
  await expect(connectByOptions(values, { env })).rejects.toThrow(/has not responded for 0\.05 s/);
  // A shell waits for this.
  const words = completeObjects("ids", ["socket"], env);
  expect(await Promise.race([words, setTimeout(15_000, "late", { ref: false })])).toEqual([]);
});

test("does not wait for a gateway that the caller does not mean", async () => {
  await using stopped = await serveProvingGateway({ isSilent: true });
  const env = { HOME: home };
  announceGateway(env, { ...running, ...stopped.running });
  expect(await findGateway({ env }, { isMeant: async () => false })).toBeUndefined();
  expect(stopped.seen).toEqual([]);
});

test("lets a command continue without a gateway that does not respond, and with no other failure", () => {
  let written = "";
  const stderr = { write: (text: string) => (written += text) };
  expect(continueWithout(new ChannelzError("PEER_UNAVAILABLE", "It does not respond."), { stderr })).toBeUndefined();
  expect(written).toBe("wirescope: It does not respond. Continuing without it.\n");
  expect(() => continueWithout(new TypeError("A defect."), { stderr })).toThrow("A defect.");
});
