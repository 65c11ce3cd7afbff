// A separate process that uses the tokens of a vault, for tests with several processes. Prints its steps to standard output.
import { promises, writeSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { createInterface } from "node:readline";
import { createHttpClient } from "../../../http/create-http-client.js";
import { createSecretRegistry } from "../../../secrets/redactor.js";
import { openFileVault } from "../../vault/file-vault.js";
import { keyFromVariable } from "../../vault/key-source.js";
import type { Vault } from "../../vault/vault.js";
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
  /** The step at which it hangs, to be killed. */
  readonly stopAt?: RefreshStep | undefined;
}

/**
 * The steps of a refresh: the token endpoint has responded; the new tokens are in a file next to the old one; that file replaced the old
 * one; it is durable.
 */
export type RefreshStep = "responded" | "written" | "renamed" | "durable";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
say("ready");
const task: WorkerTask = JSON.parse((await lines.next()).value ?? "{}");
const { url, directory, aheadMs, calls, stopAt } = task;

async function step(name: RefreshStep): Promise<void> {
  if (name !== stopAt) return;
  say(name);
  await new Promise(() => {});
}

let isRefreshing = false;
const { rename } = promises;
promises.rename = async (from, to) => {
  const isToken = isRefreshing && String(to).endsWith(".token");
  if (isToken) await step("written");
  await rename(from, to);
  if (isToken) await step("renamed");
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
  reserve: (key, task) =>
    plain.reserve(key, (put) =>
      task(async (value) => {
        isRefreshing = key.item === "tokens";
        if (isRefreshing) await step("responded");
        const entry = await put(value);
        if (isRefreshing) await step("durable");
        return entry;
      }),
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

if (calls === undefined) say(`status ${await call()}`);
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
