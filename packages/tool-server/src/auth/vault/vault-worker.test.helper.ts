// A separate process that uses a vault, for the tests that kill it. Prints its steps to standard output.
import { writeSync } from "node:fs";
import { open, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createLockOwner, livenessOf } from "../../files/file-lock.js";
import { openFileVault } from "./file-vault.js";
import { keyFromVariable } from "./key-source.js";
import { type Vault, type VaultKey, writeEntry } from "./vault.js";

const [role = "", directory = "", keyText = "", argument = ""] = process.argv.slice(2);
const key: VaultKey = JSON.parse(keyText);
const vault = await openFileVault({ directory, key: keyFromVariable("WORKER_KEY") });
const secret = process.env.WORKER_SECRET ?? "";

const roles: Record<string, (vault: Vault) => Promise<void>> = {
  /** Counts in a file, so that overlapping tasks are detected by the existing file, or by the sum. */
  async count() {
    const counter = join(directory, "..", "counter");
    const tasks = Array.from({ length: Number(argument) }, () =>
      vault.withLock(key, async () => {
        const mark = await open(`${counter}.mark`, "wx");
        await mark.close();
        const count = Number(await readFile(counter, "utf8"));
        await new Promise(setImmediate);
        await writeFile(counter, String(count + 1));
        await rm(`${counter}.mark`);
      }),
    );
    await Promise.all(tasks);
    await vault.dispose();
  },
  /** Takes the lock again and again, and prints whether another living process has it too. */
  async contend() {
    const holder = join(directory, "..", "holder");
    for (;;) {
      await vault.withLock(key, async () => {
        // A link, because a killed process leaves it complete or not at all.
        const other = await readlink(holder).catch(() => undefined);
        say(other === undefined || livenessOf(JSON.parse(other)) === "dead" ? "held alone" : `shared with ${other}`);
        await rm(holder, { force: true });
        await symlink(JSON.stringify(createLockOwner()), holder);
        await new Promise(setImmediate);
        await rm(holder);
      });
    }
  },
  /** Takes the lock and keeps it. */
  async hold() {
    await vault.withLock(key, async () => {
      say("held");
      await new Promise((resolve) => setTimeout(resolve, 600_000));
    });
  },
  /** Stores increasing values, each one more than the stored one, and prints those that are durable. */
  async put() {
    const last = (await vault.get(key))?.value.count;
    for (let count = typeof last === "number" ? last + 1 : 0; ; count += 1) {
      await writeEntry(vault, key, { count, padding: `${secret} ${count}, `.repeat(400) });
      say(String(count));
    }
  },
};

await roles[role]?.(vault);

// Written synchronously: buffered output would be lost with the process.
function say(word: string): void {
  writeSync(1, `${word}\n`);
}
