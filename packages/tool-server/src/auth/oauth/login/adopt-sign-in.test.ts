import { expect, test } from "vitest";
import { writeEntry } from "../../vault/vault.js";
import { createOAuthWorld, currentToken, replaceToken } from "../oauth-world.test.helper.js";
import type { OAuthLoginOptions } from "./login-options.js";

const from = "https://notes.example/mcp";

test("[TS-D-CLI-8] moves the tokens of another name, which are renewed with the same registration", async () => {
  const world = await createOAuthWorld();
  const { record } = await world.session({ server: from }).signIn(world.person);
  const session = world.session();
  expect((await session.adoptSignIn(from))?.record).toEqual(record);
  const held = await currentToken(session);
  expect(held?.record.accessToken).toBe(record.accessToken);
  const renewed = await replaceToken(session, held);
  expect(renewed?.record.accessToken).not.toBe(record.accessToken);
  expect(renewed?.record.clientId).toBe(record.clientId);
  expect(world.authorization.count("/register")).toBe(1);
  expect(await currentToken(world.session({ server: from }))).toBeUndefined();
  expect(await world.session().adoptSignIn(from)).toBeUndefined();
});

test.each<[string, Partial<OAuthLoginOptions>]>([
  ["another profile", { profile: "other" }],
  ["another tenant", { tenant: "t2" }],
  ["another url", { url: "http://127.0.0.1:1/other" }],
  ["another issuer", { issuer: "https://login.example" }],
  ["another client", { client: { clientId: "by-hand" } }],
  ["other scopes", { scopes: ["everything"] }],
])("[TS-D-CLI-8] leaves tokens for %s where they are", async (_, given) => {
  const world = await createOAuthWorld();
  const { record } = await world.session({ server: from }).signIn(world.person);
  expect(await world.session(given).adoptSignIn(from)).toBeUndefined();
  expect((await currentToken(world.session({ server: from })))?.record).toEqual(record);
  const { keys } = await world.vault.list();
  expect(keys.filter(({ server }) => server === "notes")).toEqual([]);
});

test("[TS-D-CLI-8] keeps the tokens that a server has", async () => {
  const world = await createOAuthWorld();
  await world.session({ server: from }).signIn(world.person);
  const { record } = await world.session().signIn(world.person);
  expect(await world.session().adoptSignIn(from)).toBeUndefined();
  expect((await currentToken(world.session()))?.record).toEqual(record);
  expect(await currentToken(world.session({ server: from }))).toBeDefined();
});

test("[TS-D-CLI-8] leaves the tokens of a client that was registered by hand to entries that name it", async () => {
  const world = await createOAuthWorld();
  const { record } = await world.session({ server: from }).signIn(world.person);
  const client = { clientId: record.clientId };
  await world.session({ server: "configured", client }).adoptSignIn(from);
  const [key] = (await world.vault.list()).keys.filter(
    ({ server, item }) => server === "configured" && item === "client",
  );
  if (key === undefined) throw new Error("The client was not copied.");
  // As a sign-in with a configured client stores it: without a registration.
  const { clientId, redirectUri } = (await world.vault.get(key))?.value ?? {};
  await writeEntry(world.vault, key, { clientId, redirectUri } as Record<string, string>);
  expect(await world.session().adoptSignIn("configured")).toBeUndefined();
  expect(await world.session({ client }).adoptSignIn("configured")).toBeDefined();
});
