// A process of its own that uses the tokens of a vault, for the tests of several processes. Says what it does on its standard output.
import { writeSync } from "node:fs";
import { createHttpClient } from "../../http/create-http-client.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { openFileVault } from "../../vault/file-vault.js";
import { keyFromVariable } from "../../vault/key-from-bytes.js";
import type { Vault } from "../../vault/vault.js";
import { createOAuthCredential } from "../credential/oauth-credential.js";
import { createOAuthSession } from "../session/oauth-session.js";

const [role = "", directory = "", url = "", aheadText = "0", argument = ""] = process.argv.slice(2);
const secrets = createSecretRegistry();
const ahead = Number(aheadText);
const clock = {
  // The token is as old for the process as the test wants it to be.
  now: () => Date.now() + ahead,
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
/** Says each step of a write, so that the test can end the process right there. */
const vault: Vault = {
  ...plain,
  async put(key, value) {
    if (key.item === "tokens") say("answered");
    const entry = await plain.put(key, value);
    if (key.item === "tokens") say("durable");
    return entry;
  },
};
const session = createOAuthSession({
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
    const answer = await http.send({ method: "POST", url: new URL(url), headers: sent, body: "{}" });
    await answer.text(1e6);
    if (answer.status === 200) return 200;
    const decision = await credential.refused({
      status: answer.status,
      sent,
      attempt,
      challenge: answer.headers["www-authenticate"],
    });
    if (decision.action === "give-up") return answer.status;
  }
}

if (role === "calls") {
  await session.current().catch(() => undefined);
  say("ready");
  await new Promise<void>((resolve) => process.stdin.once("data", () => resolve()));
  const answers = await Promise.all(Array.from({ length: Number(argument) }, call));
  say(JSON.stringify(answers));
}
if (role === "one") say(`status ${await call()}`);
await session.close();
await http.close();
await vault.dispose();
process.exit(0);

// Written at once: what is still in a buffer would be lost with the process.
function say(word: string): void {
  writeSync(1, `${word}\n`);
}
