// A separate process that uses the tokens of a vault, for tests with several processes. Prints its steps to standard output.
import { promises, writeSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { createInterface } from "node:readline";
import { createHttpClient } from "../../../http/create-http-client.js";
import { createSecretRegistry } from "../../../secrets/redactor.js";
import { openFileVault } from "../../vault/file-vault.js";
import { keyFromVariable } from "../../vault/key-source.js";
import type { LockedEntry, Vault } from "../../vault/vault.js";
import { createOAuthCredential } from "../login/oauth-credential.js";
import { createOAuthLogin } from "../login/oauth-login.js";

/** The task of the process, as a line of JSON. */
export interface WorkerTask {
  readonly directory: string;
  readonly url: string;
  /** How far the clock of the process is ahead: so that the token is as old for it as the test requires. */
  readonly aheadMs: number;
  /** How many calls to make at once, on the start signal. Default: one, at once. */
  readonly calls?: number;
  /** The step at which it waits for a line, unless it is killed. */
  readonly stopAt?: RefreshStep | undefined;
}

/**
 * The steps of a refresh: half of the mark is written; the mark is complete; the token endpoint has responded; half of the new tokens are in
 * the file of the mark; all are; that file replaced the old one; it is durable.
 */
export type RefreshStep = "marking" | "marked" | "responded" | "writing" | "written" | "renamed" | "durable";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
say("ready");
const task: WorkerTask = JSON.parse((await lines.next()).value ?? "{}");
const { url, directory, aheadMs, calls, stopAt } = task;

async function step(name: RefreshStep): Promise<void> {
  if (name !== stopAt) return;
  say(name);
  await lines.next();
}

/** What is being written for the refresh. */
let phase: "marking" | "writing" | undefined;
const { rename } = promises;
promises.rename = async (from, to) => {
  if (phase === "writing") await step("written");
  await rename(from, to);
  if (phase === "writing") await step("renamed");
};
const handle = await promises.open(process.execPath);
const files: typeof handle = Object.getPrototypeOf(handle);
await handle.close();
const { writeFile } = files;
files.writeFile = async function (this: typeof handle, content) {
  if (phase !== undefined && phase === stopAt && Buffer.isBuffer(content)) {
    const half = content.length >> 1;
    await this.write(content, 0, half);
    await step(phase);
    return writeFile.call(this, content.subarray(half));
  }
  return writeFile.call(this, content);
};
syncBuiltinESMExports();

const secrets = createSecretRegistry();
const clock = {
  now: () => Date.now() + aheadMs,
  after(delayMs: number, wake: () => void) {
    const timer = setTimeout(wake, delayMs);
    return () => clearTimeout(timer);
  },
};
const http = createHttpClient({
  server: "notes",
  secrets,
  transport: () => ({
    target: url,
    connection: { kind: "http", name: "notes", target: url, tenant: {}, credential: () => credential.describe() },
  }),
});
const plain = await openFileVault({ directory, key: keyFromVariable("WORKER_KEY") });
const vault: Vault = {
  ...plain,
  withLock: (key, task, options) =>
    plain.withLock(
      key,
      (entry, signal) => {
        const stepping: LockedEntry = {
          ...entry,
          async startRenewal(revision) {
            phase = "marking";
            const wasInterrupted = await entry.startRenewal(revision);
            phase = undefined;
            await step("marked");
            return wasInterrupted;
          },
          async write(value) {
            await step("responded");
            phase = "writing";
            const written = await entry.write(value);
            phase = undefined;
            await step("durable");
            return written;
          },
        };
        return task(key.item === "tokens" ? stepping : entry, signal);
      },
      options,
    ),
};
const session = createOAuthLogin({
  server: "notes",
  url,
  profile: "test",
  vault,
  http,
  secrets,
  clock,
  allowInsecureLoopback: true,
});
const credential = createOAuthCredential({ session });

async function call(): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const sent = await credential.headers();
    const response = await http.send({ method: "POST", url: new URL(url), headers: sent, body: "{}" });
    await response.text(1e6);
    if (response.status === 200) return 200;
    const decision = await credential.refused({
      status: response.status,
      sent,
      attempt,
      challenge: response.headers["www-authenticate"],
    });
    if (decision.action === "give-up") return response.status;
  }
}

if (calls === undefined)
  say(
    await call().then(
      (status) => `status ${status}`,
      ({ code }) => String(code),
    ),
  );
else {
  await (await session.tokens())?.current().catch(() => undefined);
  say("holding");
  await lines.next();
  say(JSON.stringify(await Promise.all(Array.from({ length: calls }, call))));
}
await session.close();
await http.close();
await vault.dispose();
process.exit(0);

// Written synchronously: buffered output would be lost with the process.
function say(word: string): void {
  writeSync(1, `${word}\n`);
}
