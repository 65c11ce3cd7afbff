import { randomBytes } from "node:crypto";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openFileVault } from "../../vault/file-vault.js";
import { keyFromVariable } from "../../vault/key-source.js";
import { temporaryFolder } from "../../vault/temporary-folder.test.helper.js";
import { storageIdOf, type Vault } from "../../vault/vault.js";
import { type LoginItem, vaultKeyOf } from "../login-store.js";
import { createOAuthWorld, currentToken, type OAuthWorld, replaceToken } from "../oauth-world.test.helper.js";

interface DamagedWorld extends OAuthWorld {
  readonly directory: string;
  readonly vault: Vault;
}

/** A user who signed in once, and a vault in which one entry was damaged since. */
async function createDamagedWorld(item: LoginItem): Promise<DamagedWorld> {
  const world = await createOAuthWorld();
  const directory = join(await temporaryFolder(), "vault");
  const key = keyFromVariable("KEY", { KEY: randomBytes(32).toString("base64") });
  const vault = await openFileVault({ directory, key });
  onTestFinished(() => vault.dispose());
  const session = world.session({ vault });
  await session.signIn(world.person);
  await session.close();
  const issuer = item === "issuer" ? "" : world.authorization.issuer;
  const login = { server: "notes", url: new URL(world.tool.url), owner: "", profile: "test", tenant: "" };
  await writeFile(join(directory, `${storageIdOf(vaultKeyOf(login, issuer, item))}.token`), "no longer what it was");
  return { ...world, directory, vault };
}

test.each(["issuer", "client", "tokens"] as const)(
  "a sign-in keeps a damaged entry under another name, warns before the browser opens, and continues (%s)",
  async (item) => {
    const { directory, vault, session, person, signInRequests } = await createDamagedWorld(item);
    const held = await session({ vault }).signIn(person);
    expect((await currentToken(session({ vault })))?.revision).toBe(held.revision);
    const aside = (await readdir(directory)).filter((name) => name.includes(".corrupt-"));
    expect(aside).toHaveLength(1);
    // That of the tokens is set aside when the new ones are written.
    if (item !== "tokens")
      expect(signInRequests.at(-1)?.vault.warning).toContain(`kept as ${join(directory, aside[0] ?? "")}`);
  },
);

test("replaces a damaged entry only at a sign-in", async () => {
  const { directory, vault, session } = await createDamagedWorld("issuer");
  await expect(currentToken(session({ vault }))).rejects.toMatchObject({ code: "VAULT_UNREADABLE" });
  expect((await readdir(directory)).filter((name) => name.includes(".corrupt-"))).toEqual([]);
});

test("granted scopes are requested again after the tokens died, but not after a sign-out", async () => {
  const world = await createOAuthWorld(["refresh-dead"]);
  const session = world.session();
  const held = await session.signIn(world.person, { scopes: ["notes:write"] });
  expect(await replaceToken(session, held)).toBeUndefined();
  await world.session().signIn(world.person);
  expect(world.signInRequests[1]).toMatchObject({ scopes: world.signInRequests[0]?.scopes, newScopes: [] });
  await world.session().signOut();
  await world.session().signIn(world.person);
  expect(world.signInRequests[2]?.scopes).not.toContain("notes:write");
});
