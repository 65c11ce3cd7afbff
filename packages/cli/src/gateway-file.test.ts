import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { ChannelzError } from "@wirescope/channelz/internal";
import { afterAll, afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { completeObjects } from "./completion/complete-objects.js";
import { connectByOptions } from "./connect-by-options.js";
import { connectionOptions } from "./connection-options.js";
import {
  announceGateway,
  continueWithout,
  findGateway,
  gatewayFile,
  gatewayFolder,
  requireGateway,
} from "./gateway-file.js";
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

/** The part of a gateway that its file describes. */
function startIdleProcess(): { readonly pid: number; kill(): Promise<void> } {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  const ended = once(child, "exit");
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  onTestFinished(kill);
  return { pid: child.pid ?? 0, kill };
}

test("finds a gateway while it runs, for its own user only", async () => {
  const env = { HOME: home };
  expect(await findGateway({ env })).toBeUndefined();
  const withdraw = announceGateway(env, running);
  expect(await findGateway({ env })).toEqual(running);
  expect(statSync(gatewayFile(env, running.pid)).mode & 0o777).toBe(0o600);
  expect(statSync(gatewayFolder(env)).mode & 0o777).toBe(0o700);
  withdraw();
  expect(await findGateway({ env })).toBeUndefined();
});

test("ignores the file of a gateway that has ended, and removes it when another starts or ends", async () => {
  const env = { HOME: home };
  const ended = { ...running, pid: 2 ** 22 + 1 };
  const left = gatewayFile(env, ended.pid);
  announceGateway(env, ended);
  expect(await findGateway({ env })).toBeUndefined();
  expect(existsSync(left)).toBe(true);
  const withdraw = announceGateway(env, running);
  expect(await findGateway({ env })).toEqual(running);
  expect(existsSync(left)).toBe(false);
  writeFileSync(left, "{}");
  withdraw();
  expect(readdirSync(gatewayFolder(env))).toEqual([]);
});

test("finds the last of two gateways, and the first again after the last has ended", async () => {
  const env = { HOME: home };
  const first = { ...running, pid: process.ppid, profile: "first" };
  const takeFirstBack = announceGateway(env, first);
  const withdraw = announceGateway(env, running);
  expect(await findGateway({ env })).toEqual(running);
  withdraw();
  expect(await findGateway({ env })).toEqual(first);
  takeFirstBack();
  expect(await findGateway({ env })).toBeUndefined();
});

test("finds the first of three gateways after the second has stopped and the last was killed", async () => {
  const env = { HOME: home };
  const [first, second, third] = [startIdleProcess(), startIdleProcess(), startIdleProcess()];
  announceGateway(env, { ...running, pid: first.pid });
  const withdrawSecond = announceGateway(env, { ...running, pid: second.pid });
  announceGateway(env, { ...running, pid: third.pid });
  withdrawSecond();
  expect(await findGateway({ env })).toMatchObject({ pid: third.pid });
  await third.kill();
  expect(await findGateway({ env })).toEqual({ ...running, pid: first.pid });
});

test("finds each of several running gateways by the filter of the caller", async () => {
  const env = { HOME: home };
  announceGateway(env, { ...running, pid: process.ppid, token: "first-token", configurations: ["/first/.mcp.json"] });
  announceGateway(env, running);
  const serves = (file: string) =>
    findGateway({ env }, { matches: async ({ configurations }) => configurations?.includes(file) === true });
  expect(await serves("/first/.mcp.json")).toMatchObject({ pid: process.ppid, token: "first-token" });
  expect(await serves("/project/.mcp.json")).toEqual(running);
  expect(await serves("/another/.mcp.json")).toBeUndefined();
});

test("reports which of several gateways it uses, unless the caller selects one", async () => {
  const env = { HOME: home };
  let written = "";
  const stderr = { write: (text: string) => (written += text) };
  announceGateway(env, running);
  expect(await requireGateway({ env, stderr })).toEqual(running);
  expect(written).toBe("");
  announceGateway(env, { ...running, pid: process.ppid, configurations: ["/first/.mcp.json"] });
  expect(await findGateway({ env, stderr }, { matches: () => true })).toMatchObject({ pid: process.ppid });
  expect(written).toBe("");
  expect(await requireGateway({ env, stderr })).toMatchObject({ pid: process.ppid });
  expect(written).toBe(
    `wirescope: Several gateways are running. Using the one that was started last: http://${gateway.running.channelz} ` +
      `(process ${process.ppid}), which serves /first/.mcp.json.\n`,
  );
});

test("reports which of several gateways a command without --target reads, but not if a target is given", async () => {
  const env = { HOME: home };
  let written = "";
  const stderr = { write: (text: string) => (written += text) };
  announceGateway(env, running);
  announceGateway(env, { ...running, pid: process.ppid });
  const connect = async (...args: string[]): Promise<void> => {
    await using _ = await connectByOptions(parseOptions(connectionOptions, args).values, { env, stderr });
  };
  await connect("--target", `http://${running.channelz}`);
  expect(written).toBe("");
  await connect();
  expect(written).toContain("Several gateways are running. Using the one that was started last: ");
});

test("does not mention another gateway whose port a program took", async () => {
  await using other = await serveProvingGateway({ hasWrongKey: true });
  const env = { HOME: home };
  announceGateway(env, { ...running, ...other.running });
  const newest = { ...running, pid: process.ppid };
  announceGateway(env, newest);
  let written = "";
  const stderr = { write: (text: string) => (written += text) };
  expect(await requireGateway({ env, stderr })).toEqual(newest);
  expect(written).toBe("");
});

test("does not let a program that took the port of a killed gateway hide another gateway", async () => {
  await using other = await serveProvingGateway({ hasWrongKey: true });
  const env = { HOME: home };
  const older = { ...running, pid: process.ppid };
  announceGateway(env, older);
  announceGateway(env, { ...running, ...other.running });
  expect(await findGateway({ env })).toEqual(older);
  expect(other.seen).toHaveLength(1);
});

test("uses another matching gateway if the last one does not respond, and says so", async () => {
  await using stopped = await serveProvingGateway({ isSilent: true });
  const env = { HOME: home };
  const older = { ...running, pid: process.ppid };
  announceGateway(env, older);
  announceGateway(env, { ...running, ...stopped.running });
  let written = "";
  const stderr = { write: (text: string) => (written += text) };
  expect(await findGateway({ env, stderr }, { responseMs: 2000 })).toEqual(older);
  expect(written).toBe(
    `wirescope: The gateway that was started last (process ${process.pid}) has not responded for 2 s. ` +
      `Using the one at http://${gateway.running.channelz} (process ${process.ppid}).\n`,
  );
});

test("ignores a file that does not describe a gateway", async () => {
  const env = { XDG_RUNTIME_DIR: home };
  announceGateway(env, running);
  const file = gatewayFile(env, running.pid);
  const description = JSON.parse(readFileSync(file, "utf8"));
  const ofAnother = JSON.stringify({ ...description, pid: process.ppid });
  for (const text of ["", "{", "[]", ofAnother, '{"pid": "1"}']) {
    writeFileSync(file, text);
    expect(await findGateway({ env })).toBeUndefined();
  }
  expect(readFileSync(file, "utf8")).toBe('{"pid": "1"}');
});

test("neither reads nor writes through a symbolic link", async () => {
  const env = { HOME: home };
  announceGateway(env, running);
  const [file, elsewhere] = [gatewayFile(env, running.pid), join(home, "elsewhere.json")];
  renameSync(file, elsewhere);
  symlinkSync(elsewhere, file);
  expect(await findGateway({ env })).toBeUndefined();
  const before = readFileSync(elsewhere, "utf8");
  announceGateway(env, { ...running, token: "a-new-token" });
  expect(await findGateway({ env })).toMatchObject({ token: "a-new-token" });
  expect(readFileSync(elsewhere, "utf8")).toBe(before);
});

test.runIf(process.getuid?.() === 0)("ignores the file of another user", async () => {
  const env = { HOME: home };
  announceGateway(env, running);
  chownSync(gatewayFile(env, running.pid), 12_345, 12_345);
  expect(await findGateway({ env })).toBeUndefined();
});

test("sends no token to a program that reuses the port of a stopped gateway", async () => {
  await using other = await serveProvingGateway({ hasWrongKey: true });
  const env = { HOME: home };
  // Its process id is in use again, too.
  announceGateway(env, { ...running, ...other.running, adminToken: "secret-admin-token" });
  expect(await findGateway({ env })).toBeUndefined();
  await using _ = await connectByOptions(parseOptions(connectionOptions, []).values, { env });
  expect(other.seen).toHaveLength(2);
  for (const seen of other.seen) expect(seen).toMatch(/^GET \/\.well-known\/wirescope\?challenge=[\w-]{43} /);
  for (const secret of [running.token, "secret-admin-token", other.running.proofKey]) {
    expect(other.seen.join()).not.toContain(secret);
  }
});

test("ignores a gateway file without a proof key", async () => {
  const env = { HOME: home };
  announceGateway(env, { ...running, proofKey: undefined });
  expect(await findGateway({ env })).toBeUndefined();
});

test("reports that a gateway does not respond, not that none is running", async () => {
  await using stopped = await serveProvingGateway({ isSilent: true });
  const env = { HOME: home };
  announceGateway(env, { ...running, ...stopped.running });
  let written = "";
  const stderr = { write: (text: string) => (written += text) };
  const finding = findGateway({ env, stderr }, { responseMs: 1000, noticeMs: 10 });
  await expect(finding).rejects.toMatchObject({
    code: "PEER_UNAVAILABLE",
    message:
      `The gateway at http://${stopped.running.channelz} (process ${process.pid}) has not responded for 1 s: it is suspended (Ctrl-Z), or too busy. ` +
      `Resume it with fg in its terminal, or kill process ${process.pid} if it is the gateway (kill -9 ${process.pid}), and start it again: wirescope up.`,
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
  // Shell completion waits for this.
  const words = completeObjects("ids", ["socket"], env);
  expect(await Promise.race([words, setTimeout(15_000, "late", { ref: false })])).toEqual([]);
});

test("does not wait for a gateway that does not match", async () => {
  await using stopped = await serveProvingGateway({ isSilent: true });
  const env = { HOME: home };
  announceGateway(env, { ...running, ...stopped.running });
  expect(await findGateway({ env }, { matches: async () => false })).toBeUndefined();
  expect(stopped.seen).toEqual([]);
});

test("lets a command continue if the gateway does not respond, but not after another failure", () => {
  let written = "";
  const stderr = { write: (text: string) => (written += text) };
  expect(continueWithout(new ChannelzError("PEER_UNAVAILABLE", "It does not respond."), { stderr })).toBeUndefined();
  expect(written).toBe("wirescope: It does not respond. Continuing without it.\n");
  expect(() => continueWithout(new TypeError("A defect."), { stderr })).toThrow("A defect.");
});
