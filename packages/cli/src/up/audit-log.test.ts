import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { GatewayEvent } from "@wirescope/gateway";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Io } from "../io.js";
import { parseOptions } from "../options.js";
import { UsageError } from "../usage-error.js";
import { type AuditLog, openAuditLog } from "./audit-log.js";
import { createEventLog } from "./event-log.js";
import { upOptions } from "./up-options.js";

let folder: string;
let file: string;
let stderr: string;
let reports: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "wirescope-audit-"));
  file = join(folder, "audit.jsonl");
  stderr = "";
  reports = [];
});

afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true });
});

const io: Io = {
  stdout: { write: () => {} },
  stderr: { write: (text) => (stderr += text) },
  env: {},
  now: () => new Date(0),
};

function open(...argv: string[]): AuditLog {
  const audit = openAuditLog(parseOptions(upOptions, argv).values, io, (text) => reports.push(text));
  if (audit === undefined) throw new Error("There is no audit log.");
  return audit;
}

const call = (name: string, more: object = {}): GatewayEvent => ({
  kind: "call",
  id: 1,
  method: "tools/call",
  server: "mail",
  name,
  outcome: "ok",
  reason: undefined,
  durationMs: 3,
  clientName: "editor 1",
  session: "abc",
  ...more,
});
const linesOf = (path: string): unknown[] =>
  readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((it) => JSON.parse(it));

test("appends one line per call to a file that only its owner can read", async () => {
  const audit = open("--audit-file", file);
  audit.listener(call("send"));
  audit.listener({ kind: "defect", reason: "no call" });
  await audit.close();
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const again = open("--audit-file", file);
  again.listener(call("read", { outcome: "error", reason: "It is closed." }));
  await again.close();
  const facts = { time: "1970-01-01T00:00:00.000Z", id: 1, method: "tools/call", server: "mail", durationMs: 3 };
  expect(linesOf(file)).toEqual([
    { ...facts, name: "send", outcome: "ok", clientName: "editor 1", session: "abc" },
    { ...facts, name: "read", outcome: "error", reason: "It is closed.", clientName: "editor 1", session: "abc" },
  ]);
});

test("writes arguments to the audit file if they are in the event, and never to the log", async () => {
  const audit = open("--audit-file", file, "--audit-arguments");
  const event = call("send", { arguments: { text: "hello" } });
  audit.listener(event);
  for (const form of ["json", "pretty"] as const) createEventLog(io, form)(event);
  await audit.close();
  expect(linesOf(file)).toMatchObject([{ arguments: { text: "hello" } }]);
  await expect.poll(() => stderr.split("\n")).toHaveLength(3);
  expect(stderr).toContain('"name":"send"');
  expect(stderr).not.toMatch(/hello|arguments/);
});

test("starts a new file if the old one is moved away, and loses no line", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const audit = open("--audit-file", file);
  audit.listener(call("first"));
  renameSync(file, `${file}.1`);
  vi.setSystemTime(Date.now() + 2000);
  audit.listener(call("second"));
  await audit.close();
  expect(linesOf(`${file}.1`)).toMatchObject([{ name: "first" }]);
  expect(linesOf(file)).toMatchObject([{ name: "second" }]);
});

test("reports once that the file cannot be reopened, keeps writing to the old one, and reports that the new one works", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const audit = open("--audit-file", file);
  renameSync(file, `${file}.1`);
  mkdirSync(file);
  const later = (name: string): void => {
    vi.setSystemTime(Date.now() + 2000);
    audit.listener(call(name));
  };
  for (const name of ["a", "b"]) {
    later(name);
    await expect.poll(() => readFileSync(`${file}.1`, "utf8")).toContain(`"name":"${name}"`);
  }
  expect(reports.splice(0)).toEqual([`Cannot write the audit log ${file}: it is a directory.`]);
  rmSync(file, { recursive: true });
  later("c");
  await audit.close();
  expect(linesOf(`${file}.1`)).toMatchObject([{ name: "a" }, { name: "b" }]);
  expect(linesOf(file)).toMatchObject([{ name: "c" }]);
  expect(reports).toEqual([`The audit log ${file} is written again.`]);
});

test("reports each failure of a file that is moved away and back", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const logs = join(folder, "logs");
  mkdirSync(logs);
  file = join(logs, "audit.jsonl");
  const audit = open("--audit-file", file);
  const later = (name: string): void => {
    vi.setSystemTime(Date.now() + 2000);
    audit.listener(call(name));
  };
  for (let round = 1; round <= 2; round += 1) {
    renameSync(logs, `${logs}.away`);
    later("while it is away");
    renameSync(`${logs}.away`, logs);
    later("when it is back");
  }
  await audit.close();
  const again = `The audit log ${file} is written again.`;
  const failure = expect.stringContaining(`Cannot write the audit log ${file}: `);
  expect(reports).toEqual([failure, again, failure, again]);
  expect(linesOf(file)).toHaveLength(4);
});

test.skipIf(!existsSync("/dev/full"))(
  "reports that a new file works if the old one fails only after that",
  async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    symlinkSync("/dev/full", file);
    const audit = open("--audit-file", file);
    audit.listener(call("a"));
    unlinkSync(file);
    vi.setSystemTime(Date.now() + 2000);
    audit.listener(call("b"));
    await expect.poll(() => reports[0]).toBe(`Cannot write the audit log ${file}: the disk is full.`);
    audit.listener(call("c"));
    await audit.close();
    expect(reports.slice(1)).toEqual([`The audit log ${file} is written again. 1 entry is missing.`]);
    expect(linesOf(file)).toMatchObject([{ name: "b" }, { name: "c" }]);
  },
);

test.skipIf(!existsSync("/dev/full"))("counts the entries that are missing after a full disk", async () => {
  symlinkSync("/dev/full", file);
  const audit = open("--audit-file", file);
  audit.listener(call("a"));
  await expect.poll(() => reports).toEqual([`Cannot write the audit log ${file}: the disk is full.`]);
  unlinkSync(file);
  mkdirSync(file);
  audit.listener(call("b"));
  rmSync(file, { recursive: true });
  audit.listener(call("c"));
  await audit.close();
  expect(linesOf(file)).toMatchObject([{ name: "c" }]);
  expect(reports[1]).toBe(`The audit log ${file} is written again. 2 entries are missing.`);
});

test("opens no audit log without a file, and rejects a file that cannot be written", () => {
  expect(openAuditLog(parseOptions(upOptions, []).values, io, () => {})).toBeUndefined();
  expect(() => open("--audit-arguments")).toThrow("requires --audit-file");
  writeFileSync(file, "");
  expect(() => open("--audit-file", join(file, "x"))).toThrow(UsageError);
  expect(() => open("--audit-file", folder)).toThrow("Cannot write the file");
});

test("starts a new line in a file that ends in the middle of one, as after a write to a full disk or a power failure", async () => {
  writeFileSync(file, '{"name":"cut');
  const audit = open("--audit-file", file);
  audit.listener(call("search"));
  await audit.close();
  const [cut, whole, ...more] = readFileSync(file, "utf8").trimEnd().split("\n");
  expect(cut).toBe('{"name":"cut');
  expect(JSON.parse(whole ?? "")).toMatchObject({ name: "search" });
  expect(more).toEqual([]);
});
