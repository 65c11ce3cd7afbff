import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ChannelzError, createRegistry, listenChannelz } from "@wirescope/channelz";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { announceGateway } from "../gateway-file.js";
import { serveProvingGateway } from "../gateway-file.test.helper.js";
import type { Io } from "../io.js";
import { parseOptions } from "../options.js";
import { UsageError } from "../usage-error.js";
import { assertNoListenOptions, listenHint, listenOptionsOf } from "./listen-options.js";
import { upOptions } from "./up-options.js";

const pem = (name: string): string =>
  fileURLToPath(new URL(`../../../../test/certificates/${name}.pem`, import.meta.url));
const read = (...argv: string[]): ReturnType<typeof listenOptionsOf> =>
  listenOptionsOf(parseOptions(upOptions, argv).values);

test("reads from the options where to listen and which callers to accept", () => {
  expect(read()).toEqual({ port: 4690 });
  expect(read("--port", "0", "--no-token")).toEqual({ port: 0, token: false });
  const tls = ["--cert", pem("server"), "--key", pem("server-key"), "--client-ca", pem("ca")];
  const names = ["--allow-host", "tools.example", "--allow-origin", "https://tools.example"];
  expect(read("--host", "0.0.0.0", "--token-file", "/t", ...tls, ...names)).toEqual({
    port: 4690,
    host: "0.0.0.0",
    tokenFile: "/t",
    tls: {
      cert: { file: pem("server") },
      key: { file: pem("server-key") },
      ca: { file: pem("ca") },
    },
    allowedHosts: ["tools.example"],
    allowedOrigins: ["https://tools.example"],
  });
});

test.each([
  [["--port", "70000"], "--port must be a number"],
  [["--port", "x"], "--port must be a number"],
  [["--cert", "x"], "must be used together"],
  [["--client-ca", pem("ca")], "requires --cert and --key"],
  [
    ["--cert", "nowhere.pem", "--key", pem("server-key")],
    "Cannot read the file nowhere.pem (--cert): the file does not exist.",
  ],
  [["--no-token", "--token-file", "x"], "cannot be used together"],
  [["--allow-origin", "tools.example"], "--allow-origin must be an origin"],
  [["--allow-origin", "https://tools.example/path"], "--allow-origin must be an origin"],
])("rejects %j as wrong usage", (argv, message) => {
  expect(() => read(...argv)).toThrow(UsageError);
  expect(() => read(...argv)).toThrow(message);
});

function check(...args: string[]): () => void {
  return () => assertNoListenOptions(parseOptions(upOptions, ["--stdio", ...args]).values);
}

test("accepts no option for listening with --stdio", () => {
  expect(check("--config", "a.json", "--trust", "--log", "off")).not.toThrow();
});

test.each([["--port", "5"], ["--host", "::1"], ["--no-token"], ["--token-file", "t"], ["--allow-host", "x"]])(
  "refuses an option that would have no effect: %s",
  (...args) => {
    expect(check(...args)).toThrow(`--stdio does not listen, so ${args[0]} has no effect.`);
  },
);

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

/** The failure of a listener on a port that is in use, and the port. */
async function takenPort(): Promise<{ readonly error: unknown; readonly port: number }> {
  const first = await listenChannelz(createRegistry(), { port: 0 });
  onTestFinished(() => first.close());
  const port = Number(first.address.split(":").at(-1));
  const error = await listenChannelz(createRegistry(), { port }).catch((reason: unknown) => reason);
  return { error, port };
}

test("suggests another port if the port is in use", async () => {
  const { error } = await takenPort();
  expect(await listenHint(error, io())).toBe("Use another port with --port <number>, or a free one with --port 0.");
});

test("says that the user's own gateway uses the port, and how to inspect it", async () => {
  await using gateway = await serveProvingGateway();
  const port = Number(gateway.running.channelz.split(":").at(-1));
  const error = await listenChannelz(createRegistry(), { port }).catch((reason: unknown) => reason);
  announceGateway({ HOME: home }, gateway.running);
  expect(await listenHint(error, io())).toMatch(
    `Your gateway is already running there as process ${process.pid}; wirescope tree shows its connections. Use another port`,
  );
});

test("does not suggest another port for other errors", async () => {
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
