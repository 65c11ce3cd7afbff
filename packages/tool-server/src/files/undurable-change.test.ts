import { type FileHandle, open, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openFileVault } from "../auth/vault/file-vault.js";
import { keyFromVariable } from "../auth/vault/key-source.js";
import { temporaryFolder } from "../auth/vault/temporary-folder.test.helper.js";
import { writeEntry } from "../auth/vault/vault.js";
import { keyOf } from "../auth/vault/vault-contract.test.helper.js";
import { createApprovalStore } from "../trust/approval-store.js";
import { entryOf, subjectOf } from "../trust/trust.test.helper.js";

/** Lets every fsync of a folder fail, as that of a broken disk does: no system call has this effect. */
async function failFolderSync(): Promise<void> {
  const handle = await open(import.meta.filename);
  const prototype: FileHandle = Object.getPrototypeOf(handle);
  await handle.close();
  const { sync } = prototype;
  onTestFinished(() => {
    prototype.sync = sync;
  });
  prototype.sync = async function (this: FileHandle) {
    if ((await this.stat()).isFile()) return sync.call(this);
    throw Object.assign(new Error("EIO: i/o error, fsync"), { code: "EIO", errno: -5, syscall: "fsync" });
  };
}

const changed = {
  code: "VAULT_UNREADABLE",
  message: expect.stringMatching(/was changed, but a power failure may undo that: I\/O error \(EIO\)(?!.*unchanged)/),
};

test("[TS-D-STORE-9] says that a vault was changed if only its folder could not be flushed", async () => {
  const directory = await temporaryFolder();
  const key = keyFromVariable("KEY", { KEY: Buffer.alloc(32, 1).toString("base64") });
  const vault = await openFileVault({ directory, key });
  onTestFinished(() => vault.dispose());
  const notes = keyOf({ server: "notes" });
  await writeEntry(vault, notes, { token: "old" });
  await failFolderSync();
  await expect(writeEntry(vault, notes, { token: "new" })).rejects.toMatchObject(changed);
  expect((await vault.get(notes))?.value).toEqual({ token: "new" });
  await expect(vault.withLock(notes, (entry) => entry.remove())).rejects.toMatchObject(changed);
  expect(await vault.get(notes)).toBeUndefined();
});

test("[TS-D-STORE-9] counts an approval as made if only its folder could not be flushed, and reports a revocation that may be undone", async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, ".mcp.json"), "{}");
  const subject = await subjectOf(entryOf({ command: "npx", args: [] }, "notes"), folder);
  const path = join(folder, "approvals.json");
  const store = createApprovalStore({ path });
  await failFolderSync();
  await store.approve(subject);
  expect(await store.find(subject)).toMatchObject({ server: "notes" });
  await expect(store.revoke(subject)).rejects.toMatchObject({
    code: "APPROVALS_UNREADABLE",
    message: expect.stringContaining(`The approvals in ${path} were changed, but a power failure may undo that`),
  });
  expect(await store.list()).toEqual([]);
  expect((await readdir(folder)).sort()).toEqual([".mcp.json", "approvals.json"]);
});
