import { expect, test } from "vitest";
import { writeEntry } from "../../vault/vault.js";
import { callTool, createOAuthWorld, currentToken } from "../oauth-world.test.helper.js";
import type { SignOutReport } from "./sign-out.js";

test("[TS-OAUTH-8] a sign-out revokes and deletes both tokens", async () => {
  const world = await createOAuthWorld();
  const { credential, session } = world.credential();
  const { record } = await session.signIn(world.person);
  expect(await callTool(world.tool, credential)).toMatchObject({ status: 200 });
  expect(await session.signOut()).toEqual({
    server: "notes",
    wiped: [
      { issuer: world.authorization.issuer, refreshToken: { kind: "revoked" }, accessToken: { kind: "revoked" } },
    ],
    problems: [],
    remaining: [],
  });
  expect(world.events.at(-1)).toMatchObject({ kind: "signed-out", text: "Signed out." });
  const revoked = world.authorization.requests
    .filter(({ path }) => path === "/revoke")
    .map(({ form }) => form.get("token"));
  expect(revoked).toEqual([record.refreshToken, record.accessToken]);
  expect((await world.vault.list()).keys.filter(({ item }) => item === "tokens")).toEqual([]);
  expect(await credential.headers()).toEqual({});
  expect(await callTool(world.tool, credential)).toMatchObject({ status: 401, code: "SIGN_IN_NEEDED" });
  expect(await session.signOut()).toMatchObject({ wiped: [] });
});

test("tokens that cannot be revoked are deleted, and the report says that this is unsupported", async () => {
  const world = await createOAuthWorld(["revocation-absent"]);
  const session = world.session();
  await session.signIn(world.person);
  expect(await session.signOut()).toMatchObject({
    wiped: [{ refreshToken: { kind: "unsupported" }, accessToken: { kind: "unsupported" } }],
  });
  expect(world.events.at(-1)).toMatchObject({ text: "Signed out; not all tokens were revoked.", severity: "warning" });
  expect(await currentToken(world.session())).toBeUndefined();
});

test("[TS-OAUTH-8] tokens are deleted even if the authorization server does not respond", async () => {
  const world = await createOAuthWorld();
  await world.session().signIn(world.person);
  await world.authorization.close();
  const report = await world.session().signOut();
  expect(report.wiped).toMatchObject([{ refreshToken: { kind: "failed" }, accessToken: { kind: "failed" } }]);
  expect(await currentToken(world.session())).toBeUndefined();
  await world.tool.close();
});

test("deletes tokens of an unknown format, and says that they were not revoked", async () => {
  const world = await createOAuthWorld();
  await world.session().signIn(world.person);
  const key = (await world.vault.list()).keys.find(({ item }) => item === "tokens");
  if (key === undefined) throw new Error("There are no tokens in the vault.");
  await writeEntry(world.vault, key, { format: "of a later version" });
  await expect(currentToken(world.session())).rejects.toMatchObject({
    code: "VAULT_UNREADABLE",
    advice: "Sign in again, or use the version of Wirescope that wrote them.",
  });
  const { issuer } = world.authorization;
  const reason = "The tokens have an unknown format.";
  expect(await world.session().signOut()).toMatchObject({
    wiped: [{ issuer, refreshToken: undefined, accessToken: { kind: "failed", reason } }],
    problems: [],
  });
  expect(await world.vault.get(key)).toBeUndefined();

  await writeEntry(world.vault, key, { format: "of a later version" });
  const held = await world.session().signIn(world.person);
  expect((await currentToken(world.session()))?.revision).toBe(held.revision);
});

test("[TS-OAUTH-8] [TS-D-TENANT-1] tokens of another process are deleted too, but not those of another tenant", async () => {
  const world = await createOAuthWorld();
  const session = world.session();
  await session.signIn(world.person);
  await world.session({ tenant: "t2" }).signIn(world.person);
  await currentToken(session);
  const other = await world.session().signIn(world.person);
  await session.signOut();
  expect(world.authorization.scopesOf(other.record.accessToken)).toBeUndefined();
  expect(await currentToken(world.session())).toBeUndefined();
  expect(await currentToken(world.session({ tenant: "t2" }))).toBeDefined();
});

test("signs in again after a sign-out, in the same session with a new registration", async () => {
  const world = await createOAuthWorld();
  const session = world.session();
  await session.signIn(world.person);
  await session.signOut();
  await session.signIn(world.person);
  expect(await currentToken(session)).toBeDefined();
  expect(await session.status()).toMatchObject({ isSignedIn: true, issuer: world.authorization.issuer });
  expect(world.authorization.count("/register")).toBe(2);
});

test("a sign-out deletes the registration without tokens, and keeps those of another tenant", async () => {
  const world = await createOAuthWorld();
  await world.session().signIn(world.person);
  await world.session({ tenant: "t2" }).signIn(world.person);
  await world.session().signOut();
  const clients = async (): Promise<string[]> =>
    (await world.vault.list()).keys.filter(({ item }) => item === "client").map(({ tenant }) => tenant);
  expect(await clients()).toEqual(["t2"]);
  // As after a sign-in that never returned, because the authorization server has forgotten the client.
  for (const key of (await world.vault.list()).keys.filter(({ item }) => item === "tokens")) {
    await world.vault.withLock(key, (entry) => entry.remove());
  }
  expect((await world.session({ tenant: "t2" }).signOut()).wiped).toEqual([]);
  expect(await clients()).toEqual([]);
});

test("a sign-out waits for a renewal that runs, and revokes and deletes the tokens that it stores", async () => {
  const world = await createOAuthWorld();
  await world.session().signIn(world.person);
  const late = "access-that-came-late";
  const [key] = (await world.vault.list({ item: "tokens" })).keys;
  if (key === undefined) throw new Error("There are no tokens.");
  let signingOut: Promise<SignOutReport> | undefined;
  await world.vault.withLock(key, async (entry) => {
    signingOut = world.session().signOut();
    await new Promise(setImmediate);
    await entry.write({ ...(await entry.read())?.value, accessToken: late });
  });
  expect((await signingOut)?.wiped).toHaveLength(1);
  expect(await currentToken(world.session())).toBeUndefined();
  expect(world.authorization.requests.some(({ path, form }) => path === "/revoke" && form.get("token") === late)).toBe(
    true,
  );
});

test("[TS-OAUTH-8] names the tokens for other urls and tenants that remain, and deletes them on request, without sending them here", async () => {
  const world = await createOAuthWorld();
  const session = world.session();
  const tenant = JSON.stringify([["WORKSPACE_ID", "main"]]);
  const other = await world.session({ tenant }).signIn(world.person);
  await world.session({ server: "another" }).signIn(world.person);
  await session.signIn(world.person);
  const url = new URL(world.tool.url).href;
  expect((await session.signOut()).remaining).toEqual([{ url, tenant: "WORKSPACE_ID=main" }]);
  const calls = world.tool.requests.length;
  expect(await session.signOut(undefined, { isEverywhere: true })).toMatchObject({
    wiped: [{ refreshToken: { kind: "revoked" }, accessToken: { kind: "revoked" } }],
    remaining: [],
  });
  expect(world.tool.requests.length).toBe(calls);
  expect(world.events.at(-1)).toMatchObject({
    kind: "signed-out",
    text: "Signed out.",
  });
  expect(world.authorization.scopesOf(other.record.accessToken)).toBeUndefined();
  const left = (await world.vault.list()).keys.filter(({ item }) => item === "tokens");
  expect(left).toMatchObject([{ server: "another" }]);
});
