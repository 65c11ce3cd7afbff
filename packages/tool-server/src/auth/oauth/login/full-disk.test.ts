import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openFileVault } from "../../vault/file-vault.js";
import { keyFromVariable } from "../../vault/key-source.js";
import { createOAuthWorld, currentToken, replaceToken } from "../oauth-world.test.helper.js";

/** A disk of 1 MiB in memory; undefined if this user may not mount one. */
function mountSmallDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], { stdio: "pipe" });
    return folder;
  } catch {
    rmSync(folder, { recursive: true });
    return undefined;
  }
}

const disk = mountSmallDisk();
if (disk === undefined) console.warn("A full disk is not tested here: this user may not mount one (tmpfs).");
afterAll(() => {
  if (disk === undefined) return;
  execFileSync("umount", [disk]);
  rmSync(disk, { recursive: true });
});

/** Fills the disk except for some pages; the returned function frees the space again. */
function fill(folder: string, freePages = 0): () => void {
  const path = join(folder, "filler");
  const spare = Array.from({ length: freePages }, (_, index) => join(folder, `spare-${index}`));
  for (const each of spare) writeFileSync(each, "x");
  try {
    for (;;) writeFileSync(path, Buffer.alloc(4096), { flag: "a" });
  } catch (error) {
    expect(error).toMatchObject({ code: "ENOSPC" });
  }
  for (const each of spare) rmSync(each);
  return () => rmSync(path);
}

test.skipIf(disk === undefined)(
  "[TS-D-STORE-10] a disk that fills up while the token is refreshed does not lose the sign-in",
  async () => {
    const world = await createOAuthWorld();
    const directory = join(disk ?? "", "filled-during-refresh");
    const key = keyFromVariable("KEY", { KEY: randomBytes(32).toString("base64") });
    const vault = await openFileVault({ directory, key });
    const session = world.session({ vault });
    const first = await session.signIn(world.person);
    let free = (): void => {};
    world.authorization.beforeToken = async () => {
      free = fill(disk ?? "");
    };
    const second = await replaceToken(session, first);
    free();
    world.authorization.beforeToken = undefined;
    await session.close();
    await vault.dispose();
    // As the next process finds it.
    const again = await openFileVault({ directory, key });
    const next = world.session({ vault: again });
    expect((await currentToken(next))?.revision).toBe(second?.revision);
    expect(await replaceToken(next, second)).toBeDefined();
    await next.close();
    await again.dispose();
  },
);

test.skipIf(disk === undefined)(
  "[TS-D-STORE-10] nothing is sent if the disk has no space for the new token, and the old one stays valid",
  async () => {
    const world = await createOAuthWorld();
    const directory = join(disk ?? "", "filled-before");
    const key = keyFromVariable("KEY", { KEY: randomBytes(32).toString("base64") });
    const vault = await openFileVault({ directory, key });
    const session = world.session({ vault });
    const first = await session.signIn(world.person);
    // Enough for the locks.
    const free = fill(disk ?? "", 4);
    await expect(replaceToken(session, first)).rejects.toMatchObject({
      code: "VAULT_UNREADABLE",
      message: expect.stringContaining("the disk is full"),
    });
    expect(world.authorization.count("/token", "refresh_token")).toBe(0);
    expect(readdirSync(directory).filter((name) => name.endsWith(".renewal"))).toEqual([]);
    free();
    expect(await replaceToken(session, first)).toBeDefined();
    await session.close();
    await vault.dispose();
  },
);
