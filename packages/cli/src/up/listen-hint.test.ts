import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ChannelzError, createRegistry, listenChannelz } from "@wirescope/channelz";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { announceGateway } from "../gateway-file.js";
import { serveProvingGateway } from "../gateway-file.test.helper.js";
import type { Io } from "../io.js";
import { listenHint } from "./listen-hint.js";

const certificate = (name: string): string =>
  readFileSync(new URL(`../../../../test/certificates/${name}.pem`, import.meta.url), "utf8");

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "wirescope-hint-"));
});

afterEach(() => rmSync(home, { recursive: true }));

function io(): Io {
  const nowhere = { write: () => true };
  return { stdout: nowhere, stderr: nowhere, env: { HOME: home }, now: () => new Date() };
}

/** The failure of a listener on a port that is taken, and the port. */
async function takenPort(): Promise<{ readonly error: unknown; readonly port: number }> {
  const first = await listenChannelz(createRegistry(), { port: 0 });
  onTestFinished(() => first.close());
  const port = Number(first.address.split(":").at(-1));
  const error = await listenChannelz(createRegistry(), { port }).catch((reason: unknown) => reason);
  return { error, port };
}

test("where the port is taken, another is offered", async () => {
  const { error } = await takenPort();
  expect(await listenHint(error, io())).toBe("Use another port with --port <number>, or a free one with --port 0.");
});

test("where it is one's own gateway that has the port, that is said, and how to look at it", async () => {
  await using gateway = await serveProvingGateway();
  const port = Number(gateway.running.channelz.split(":").at(-1));
  const error = await listenChannelz(createRegistry(), { port }).catch((reason: unknown) => reason);
  announceGateway({ HOME: home }, gateway.running);
  expect(await listenHint(error, io())).toMatch(
    `Your gateway is already running there as process ${process.pid}; wirescope tree shows its connections. Use another port`,
  );
});

test("another port is not offered where something else is wrong", async () => {
  const error = await listenChannelz(createRegistry(), { host: "nowhere.invalid", port: 0 }).catch(
    (reason: unknown) => reason,
  );
  expect(ChannelzError.is(error, "LISTEN_FAILED")).toBe(true);
  expect(await listenHint(error, io())).toBe("");
  const tls = { cert: certificate("server"), key: certificate("server-key") };
  const foreign = await listenChannelz(createRegistry(), {
    host: "192.0.2.1",
    port: 0,
    tls,
    token: "a-token-0123456789",
  }).catch((reason: unknown) => reason);
  expect(String(foreign)).toContain("EADDRNOTAVAIL");
  expect(await listenHint(foreign, io())).toBe("");
  expect(await listenHint(new Error("other"), io())).toBeUndefined();
});
