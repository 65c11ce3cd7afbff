import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmod,
  chown,
  cp,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type Clock, steadyClock } from "../../clock.js";
import { createFakeClock } from "../../fake-clock.test.helper.js";
import { acquireLockFile } from "../../files/file-lock.js";
import { openFileVault } from "./file-vault.js";
import { type KeySource, keyFromVariable } from "./key-source.js";
import {
  filesBelow,
  filesWith,
  fingerprintOf,
  fingerprintsBelow,
  temporaryFolder,
} from "./temporary-folder.test.helper.js";
import { type LockedEntry, storageIdOf, type Vault, type VaultEntry, writeEntry } from "./vault.js";
import { describeVaultContract, keyOf, plantedSecret } from "./vault-contract.test.helper.js";

function newKey(): { readonly key: KeySource; readonly text: string } {
  const text = randomBytes(32).toString("base64");
  return { key: keyFromVariable("KEY", { KEY: text }), text };
}

async function newVault(
  clock: Clock = steadyClock,
): Promise<{ folder: string; key: KeySource; text: string; vault: Vault; path: string }> {
  const folder = join(await temporaryFolder(), "vault");
  const { key, text } = newKey();
  const vault = await openFileVault({ directory: folder, key, clock });
  return { folder, key, text, vault, path: join(folder, `${storageIdOf(keyOf())}.token`) };
}

describeVaultContract("the encrypted file", async () => {
  const { vault, text } = await newVault();
  return { vault, secrets: [text, Buffer.from(text, "base64").toString("hex")] };
});

test("[TS-OAUTH-5] files of a vault contain no readable token or name, and only the owner can read them", async () => {
  const { folder, vault, text } = await newVault();
  await writeEntry(vault, keyOf(), { access_token: plantedSecret });
  for (const words of [plantedSecret, "mcp.example.com", "development", text]) {
    expect(await filesWith(folder, words)).toEqual([]);
  }
  for (const path of [folder, join(folder, "locks")]) expect((await stat(path)).mode & 0o777).toBe(0o700);
  for (const path of (await filesBelow(folder)).keys()) expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("a stored value can be read after the vault was opened again with the same key", async () => {
  const { folder, key, vault } = await newVault();
  const put = await writeEntry(vault, keyOf(), { token: "1" });
  await vault.dispose();
  const again = await openFileVault({ directory: folder, key });
  expect(await again.get(keyOf())).toEqual(put);
  expect(again.describe()).toEqual({
    kind: "file",
    path: folder,
    summary: `Tokens are stored in ${folder}, encrypted with AES-256-GCM; the key is read from the variable KEY.`,
  });
});

test("the same value is never encrypted to the same bytes", async () => {
  const { vault, path } = await newVault();
  const seen = new Set<string>();
  for (let round = 0; round < 10; round += 1) {
    await writeEntry(vault, keyOf(), { token: "1" });
    const { nonce, data } = JSON.parse(await readFile(path, "utf8"));
    seen.add(nonce).add(data);
  }
  expect(seen.size).toBe(20);
});

test("a write waits for that of another process, and replaces its result", async () => {
  const clock = createFakeClock();
  const { vault, folder, path } = await newVault(clock);
  const fresh = await writeEntry(vault, keyOf(), { token: "fresh" });
  const freshBytes = await readFile(path);
  await writeEntry(vault, keyOf(), { token: "old" });
  const other = await acquireLockFile(join(folder, "locks", `${storageIdOf(keyOf())}.lock`), {
    signal: new AbortController().signal,
    clock: steadyClock,
  });
  const seen: unknown[] = [];
  const writing = vault.withLock(keyOf(), async (entry) => {
    seen.push(await entry.read());
    return entry.write({ token: "newest" });
  });
  // One timer for its wait limit, and one for its next poll.
  await vi.waitFor(() => expect(clock.waiting).toBe(2), { interval: 1, timeout: 60_000 });
  await writeFile(path, freshBytes);
  await other.release();
  clock.advance(1_000);
  const written = await writing;
  expect(await vault.get(keyOf())).toEqual(written);
  expect(seen).toEqual([fresh]);
});

describe("the file of a renewal", () => {
  /** A vault with an entry that was replaced, and the file of the new entry before it replaced the old one. */
  async function interrupted(): Promise<{ vault: Vault; draft: string; old: VaultEntry; next: VaultEntry }> {
    const { vault, path } = await newVault();
    const old = await writeEntry(vault, keyOf(), { token: "old" });
    const oldBytes = await readFile(path);
    const next = await writeEntry(vault, keyOf(), { token: "new" });
    const draft = path.replace(".token", ".renewal");
    await rename(path, draft);
    await writeFile(path, oldBytes);
    return { vault, draft, old, next };
  }
  const read = (vault: Vault): Promise<VaultEntry | undefined> => vault.withLock(keyOf(), (entry) => entry.read());

  test("[TS-D-STORE-10] holds 64 KiB for the new value before the renewal, shows nothing, and is gone after it", async () => {
    const { vault, path, folder } = await newVault();
    const { revision } = await writeEntry(vault, keyOf(), { token: "1" });
    const draft = path.replace(".token", ".renewal");
    await vault.withLock(keyOf(), async (entry) => {
      await entry.startRenewal(revision);
      const text = await readFile(draft, "utf8");
      expect(text).toHaveLength(64 * 1024);
      expect(text.trimEnd().length).toBeLessThan(500);
      expect(await filesWith(folder, revision)).toEqual([]);
      await entry.write({ token: "2" });
    });
    expect((await readdir(folder)).sort()).toEqual([basename(path), "locks", "vault.json"]);
  });

  test("[TS-D-STORE-10] a complete new entry is published by the next holder of the lock, and not by a reader", async () => {
    const { vault, draft, old, next } = await interrupted();
    expect(await vault.get(keyOf())).toEqual(old);
    expect(await read(vault)).toEqual(next);
    expect(await vault.get(keyOf())).toEqual(next);
    await expect(stat(draft)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test.each<[string, (state: { vault: Vault; draft: string }) => Promise<unknown>, boolean]>([
    ["is cut short", async ({ draft }) => writeFile(draft, (await readFile(draft)).subarray(0, -30)), true],
    ["is empty", ({ draft }) => writeFile(draft, ""), true],
    ["replaces another revision", ({ vault }) => replaceWithoutDraft(vault), false],
  ])("[TS-D-STORE-10] a new entry that %s is not published", async (_, spoil, isReported) => {
    const state = await interrupted();
    await spoil(state);
    const present = await state.vault.get(keyOf());
    expect(await read(state.vault)).toEqual(present);
    const revision = present?.revision ?? "";
    expect(await state.vault.withLock(keyOf(), (entry) => entry.startRenewal(revision))).toBe(isReported);
  });

  /** As a restored backup does. */
  async function replaceWithoutDraft(vault: Vault): Promise<void> {
    const folder = vault.describe().path ?? "";
    const path = join(folder, `${storageIdOf(keyOf())}.token`);
    const kept = await readFile(path.replace(".token", ".renewal"));
    await writeEntry(vault, keyOf(), { token: "restored" });
    await writeFile(path.replace(".token", ".renewal"), kept);
  }

  test("[TS-D-STORE-10] a task whose lock was taken over by another process changes nothing", async () => {
    const { vault, folder } = await newVault();
    const { revision } = await writeEntry(vault, keyOf(), { token: "1" });
    const before = await fingerprintsBelow(folder);
    const lock = join(folder, "locks", `${storageIdOf(keyOf())}.lock`);
    for (const change of [
      (entry: LockedEntry) => entry.startRenewal(revision),
      (entry: LockedEntry) => entry.write({}),
      (entry: LockedEntry) => entry.remove(),
      (entry: LockedEntry) => entry.quarantine(),
    ]) {
      const changing = vault.withLock<unknown>(keyOf(), async (entry) => {
        await writeFile(lock, "of another process");
        return change(entry);
      });
      await expect(changing).rejects.toMatchObject({ code: "VAULT_LOCKED" });
      await rm(lock);
    }
    expect(await fingerprintsBelow(folder)).toEqual(before);
  });
});

describe("an entry that cannot be read", () => {
  const foreign: Record<string, (path: string) => Promise<void>> = {
    "is cut short": async (path) => writeFile(path, (await readFile(path)).subarray(0, -30)),
    "is empty": (path) => writeFile(path, ""),
    "is of another program": (path) => writeFile(path, '{"access_token":"x"}'),
    "is of a later version": async (path) =>
      writeFile(path, (await readFile(path, "utf8")).replace('"version":1', '"version":2')),
    "is too large": (path) => writeFile(path, Buffer.alloc(2 * 1024 * 1024)),
    "has another tag length": async (path) => {
      const sealed = JSON.parse(await readFile(path, "utf8"));
      await writeFile(path, JSON.stringify({ ...sealed, tag: sealed.tag.slice(0, 8) }));
    },
    "is a link to elsewhere": async (path) => {
      await rename(path, `${path}.elsewhere`);
      await symlink(`${path}.elsewhere`, path);
    },
    "is a folder": async (path) => {
      await rm(path);
      await mkdir(path);
    },
  };

  test.each(Object.entries(foreign))(
    "an entry that %s is reported, not changed, and kept under another name when a new one is stored",
    async (_, spoil) => {
      const { folder, vault, path } = await newVault();
      await writeEntry(vault, keyOf(), { token: plantedSecret });
      await spoil(path);
      const before = await fingerprintsBelow(folder);
      const unreadable = { code: "VAULT_UNREADABLE", message: expect.stringContaining(path) };
      await expect(vault.get(keyOf())).rejects.toMatchObject(unreadable);
      await expect(vault.withLock(keyOf(), (entry) => entry.remove())).rejects.toMatchObject(unreadable);
      const listed = await vault.list();
      expect([listed.keys, listed.unreadable]).toEqual([[], [expect.stringContaining(path)]]);
      expect(await fingerprintsBelow(folder)).toEqual(before);

      const fresh = await writeEntry(vault, keyOf(), { token: "new" });
      expect(await vault.get(keyOf())).toEqual(fresh);
      const [aside, ...others] = (await readdir(folder)).filter((name) => name.includes(".corrupt-"));
      expect(others).toEqual([]);
      expect(vault.describe().warning).toContain(aside);
      const spoilt = before[path];
      if (spoilt !== undefined) expect(fingerprintOf(await readFile(join(folder, aside ?? "")))).toBe(spoilt);
    },
  );

  test("[TS-D-STORE-3] an entry with one changed bit is never accepted", async () => {
    const { vault, path } = await newVault();
    const put = await writeEntry(vault, keyOf(), { token: "1" });
    const bytes = await readFile(path);
    for (let index = 0; index < bytes.length; index += 1) {
      const changed = Buffer.from(bytes);
      changed[index] = (changed[index] ?? 0) ^ (1 << (index % 8));
      await writeFile(path, changed);
      // The last character of base64 may contain unused bits, and white space is ignored.
      const outcome = await vault.get(keyOf()).catch((error: { code: string }) => error.code);
      if (outcome !== "VAULT_UNREADABLE") expect(outcome).toEqual(put);
    }
  });

  test("[TS-D-STORE-2] an entry that was moved from another name or another vault is not decrypted", async () => {
    const { vault, folder, path } = await newVault();
    const production = keyOf({ profile: "production" });
    await writeEntry(vault, keyOf(), { token: "development" });
    await writeEntry(vault, production, { token: "production" });
    await cp(join(folder, `${storageIdOf(production)}.token`), path);
    await expect(vault.get(keyOf())).rejects.toMatchObject({ code: "VAULT_UNREADABLE" });

    const other = await newVault();
    await writeEntry(other.vault, keyOf(), { token: "other" });
    await cp(other.path, path);
    await expect(vault.get(keyOf())).rejects.toMatchObject({ code: "VAULT_UNREADABLE" });
  });

  test("an unreadable entry does not hide others from a list", async () => {
    const { vault, path } = await newVault();
    await writeEntry(vault, keyOf(), {});
    await writeEntry(vault, keyOf({ server: "tickets" }), {});
    await writeFile(path, "?");
    const { keys, unreadable } = await vault.list();
    expect(keys).toEqual([keyOf({ server: "tickets" })]);
    expect(unreadable).toHaveLength(1);
  });
});

describe("a folder", () => {
  test("[TS-D-STORE-8] the modes of a folder and of files that others could access are corrected, with warnings", async () => {
    const { folder, key, vault, path } = await newVault();
    await writeEntry(vault, keyOf(), { token: "1" });
    await chmod(folder, 0o755);
    await chmod(path, 0o644);
    const again = await openFileVault({ directory: folder, key });
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect(again.describe().warning).toContain(`Other users could access ${folder}`);
    await again.get(keyOf());
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(again.describe().warning).toContain(`Other users could read ${path}`);
  });

  test("a folder that others can access and that holds other files is not changed and not used", async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, "letter.txt"), "");
    await chmod(folder, 0o755);
    await expect(openFileVault({ directory: folder, key: newKey().key })).rejects.toMatchObject({
      code: "VAULT_UNREADABLE",
      message: expect.stringContaining("Move the other files away, or use another folder: set XDG_DATA_HOME"),
    });
    expect((await stat(folder)).mode & 0o777).toBe(0o755);
    expect(await readdir(folder)).toEqual(["letter.txt"]);
  });

  // Only root can change the owner of a folder.
  test.skipIf(process.geteuid?.() !== 0)("a folder of another user is not used", async () => {
    const { folder, key, vault, path } = await newVault();
    await writeEntry(vault, keyOf(), { token: "1" });
    await chown(path, 12345, 12345);
    await expect(vault.get(keyOf())).rejects.toMatchObject({
      code: "VAULT_UNREADABLE",
      message: expect.stringContaining("user 12345"),
    });
    await chown(folder, 12345, 12345);
    await expect(openFileVault({ directory: folder, key })).rejects.toMatchObject({
      code: "VAULT_UNREADABLE",
      message: expect.stringContaining("belongs to user 12345"),
    });
  });

  test("a vault on a read-only file system can be read, and a write reports the cause and advice that works", async (context) => {
    const place = await temporaryFolder();
    const [directory, { key }] = [join(place, "vault"), newKey()];
    const mount = (...options: string[]): void => void execFileSync("mount", [...options, place], { stdio: "ignore" });
    try {
      mount("-t", "tmpfs", "tmpfs");
    } catch {
      // Only root can mount.
      context.skip();
    }
    onTestFinished(() => void execFileSync("umount", [place]));
    await writeEntry(await openFileVault({ directory, key }), keyOf(), { token: "1" });
    mount("-o", "remount,ro");
    const vault = await openFileVault({ directory, key });
    expect((await vault.get(keyOf()))?.value).toEqual({ token: "1" });
    const remedy =
      "Mount its file system with write access, or use another folder: set XDG_DATA_HOME to its absolute path";
    const refusal = {
      code: "VAULT_UNREADABLE",
      message: expect.stringMatching(new RegExp(`the file system is read-only \\(EROFS\\).* ${remedy}`)),
    };
    await expect(writeEntry(vault, keyOf(), { token: "2" })).rejects.toMatchObject(refusal);
    await expect(openFileVault({ directory: join(place, "new", "vault"), key })).rejects.toMatchObject(refusal);
    mount("-o", "remount,rw");
    await writeEntry(vault, keyOf(), { token: "2" });
    await openFileVault({ directory: join(place, "new", "vault"), key });
  });

  test("a folder with another file in place of its locks is reported with that file", async () => {
    const { folder, key } = await newVault();
    await rm(join(folder, "locks"), { recursive: true });
    await writeFile(join(folder, "locks"), "");
    await expect(openFileVault({ directory: folder, key })).rejects.toMatchObject({
      code: "VAULT_UNREADABLE",
      message: expect.stringContaining(`${join(folder, "locks")} is not a folder. Move it away`),
    });
    await rm(join(folder, "locks"));
    await openFileVault({ directory: folder, key });
  });

  test.each([
    ["damaged", (header: string) => writeFile(header, "{")],
    ["lost", (header: string) => rm(header)],
  ])("uses a folder whose header is %s again after the advice is followed", async (_, damage) => {
    const { folder, key, vault } = await newVault();
    await writeEntry(vault, keyOf(), { token: "1" });
    await damage(join(folder, "vault.json"));
    await expect(openFileVault({ directory: folder, key })).rejects.toMatchObject({
      code: "VAULT_UNREADABLE",
      message: expect.stringContaining(`move ${folder} away and sign in again.`),
    });
    await rename(folder, `${folder}.old`);
    await writeEntry(await openFileVault({ directory: folder, key }), keyOf(), { token: "2" });
  });

  test("a path that is a file, or is below one, is reported", async () => {
    const file = join(await temporaryFolder(), "file");
    await writeFile(file, "");
    for (const directory of [file, join(file, "below")]) {
      await expect(openFileVault({ directory, key: newKey().key })).rejects.toMatchObject({
        code: "VAULT_UNREADABLE",
        message: expect.stringContaining(file),
      });
    }
  });

  test("[TS-D-STORE-3] a folder that disappears while it is in use is an error, and never an empty vault", async () => {
    const { folder, vault } = await newVault();
    await writeEntry(vault, keyOf(), { token: "1" });
    await rename(folder, `${folder}-unmounted`);
    await expect(vault.get(keyOf())).rejects.toMatchObject({ code: "VAULT_UNREADABLE" });
    await expect(vault.list()).rejects.toMatchObject({ code: "VAULT_UNREADABLE" });
    await expect(vault.withLock(keyOf(), (entry) => entry.remove())).rejects.toMatchObject({
      code: "VAULT_UNREADABLE",
    });
    await expect(writeEntry(vault, keyOf(), { token: "2" })).rejects.toMatchObject({ code: "VAULT_UNREADABLE" });
    await expect(vault.withLock(keyOf(), async () => {})).rejects.toMatchObject({ code: "VAULT_UNREADABLE" });
    await rename(`${folder}-unmounted`, folder);
    expect((await vault.get(keyOf()))?.value).toEqual({ token: "1" });
  });

  test("a vault that is replaced while it is in use is not written to with the old key", async () => {
    const { folder, vault } = await newVault();
    await rename(folder, `${folder}-old`);
    const reopened = await openFileVault({ directory: folder, key: newKey().key });
    await expect(vault.get(keyOf())).rejects.toMatchObject({ code: "VAULT_KEY_WRONG" });
    await expect(writeEntry(vault, keyOf(), { token: "old" })).rejects.toMatchObject({ code: "VAULT_KEY_WRONG" });
    expect(await reopened.list()).toEqual({ keys: [], unreadable: [] });
  });

  test("temporary files of killed writers are removed once they are old", async () => {
    const { folder, key } = await newVault();
    const names = ["a.token.1.tmp", "b.token.2.tmp", "locks/c.lock.3.tmp", "locks/d.lock.4.tmp"];
    for (const name of names) await writeFile(join(folder, name), "?");
    const twoHoursAgo = Date.now() / 1000 - 7200;
    for (const name of [names[0], names[2]]) await utimes(join(folder, name ?? ""), twoHoursAgo, twoHoursAgo);
    await openFileVault({ directory: folder, key });
    const left = [...(await filesBelow(folder)).keys()].filter((path) => path.endsWith(".tmp"));
    expect(left.sort()).toEqual([join(folder, "b.token.2.tmp"), join(folder, "locks/d.lock.4.tmp")]);
  });

  test("a vault that several processes create at once is created once", async () => {
    const folder = join(await temporaryFolder(), "vault");
    const { key } = newKey();
    const vaults = await Promise.all(Array.from({ length: 5 }, () => openFileVault({ directory: folder, key })));
    await writeEntry(vaults[0] as Vault, keyOf(), { token: "1" });
    for (const vault of vaults) expect((await vault.get(keyOf()))?.value).toEqual({ token: "1" });
  });

  test("two vaults in the same folder share their locks", async () => {
    const { folder, key, vault } = await newVault();
    const other = await openFileVault({ directory: folder, key });
    let running = 0;
    const task = async (): Promise<void> => {
      running += 1;
      expect(running).toBe(1);
      await new Promise(setImmediate);
      running -= 1;
    };
    await Promise.all([vault, other, vault, other].map((one) => one.withLock(keyOf(), task)));
    expect(await readdir(join(folder, "locks"))).toEqual([]);
  });
});
