import { generateKeyPairSync } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { createFakeClock } from "../../process/fake-clock.test.helper.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { createMemoryVault } from "../../vault/memory-vault.js";
import { createOAuthCredential } from "../credential/oauth-credential.js";
import { callTool, createTestHttpClient } from "../oauth-world.test.helper.js";
import { type HostileToolServer, startHostileToolServer } from "../quirks/hostile-tool-server.test.helper.js";
import { createOAuthSession, type OAuthSession } from "../session/oauth-session.js";
import type { OAuthSessionOptions } from "../session/session-options.js";
import {
  type RealAuthorizationServer,
  type RealServerOptions,
  startRealAuthorizationServer,
} from "./authorization-server.test.helper.js";
import { createBrowsingPerson } from "./browser.test.helper.js";

interface RealWorld extends ReturnType<typeof createBrowsingPerson> {
  readonly authorization: RealAuthorizationServer;
  readonly tool: HostileToolServer;
  session(options?: Partial<OAuthSessionOptions>): OAuthSession;
}

async function createRealWorld(options: RealServerOptions = {}): Promise<RealWorld> {
  const authorization = await startRealAuthorizationServer(options);
  const tool = await startHostileToolServer({
    authorizationServers: [authorization.issuer],
    scopesOf: (token) => authorization.scopesOf(token),
  });
  tool.scopesSupported = ["openid", "notes:read"];
  tool.challengedScope = "";
  const secrets = createSecretRegistry();
  const http = createTestHttpClient(secrets);
  const vault = createMemoryVault();
  const sessions: OAuthSession[] = [];
  onTestFinished(async () => {
    await Promise.all(sessions.map((session) => session.close()));
    await http.close();
    await Promise.all([authorization.close(), tool.close(), vault.dispose()]);
  });
  return {
    ...createBrowsingPerson(),
    authorization,
    tool,
    session(given = {}) {
      const base = {
        server: "notes",
        url: tool.url,
        profile: "test",
        vault,
        http,
        secrets,
        allowInsecureLoopback: true,
      };
      const session = createOAuthSession({ ...base, ...given });
      sessions.push(session);
      return session;
    },
  };
}

test("a person signs in with a browser: registration, PKCE, resource, identity, refresh token", async () => {
  const world = await createRealWorld();
  const session = world.session();
  const credential = createOAuthCredential({ session, signIn: world.person });
  expect(await callTool(world.tool, credential)).toMatchObject({ status: 200, attempts: 2 });
  expect(world.asked[0]?.scopes).toEqual(["openid", "notes:read", "offline_access"]);
  expect(world.pages[0]).toMatchObject({ status: 200, html: expect.stringContaining("Answer received") });
  expect(session.describe()).toMatchObject({
    isSignedIn: true,
    account: "ada",
    canRefresh: true,
    issuer: world.authorization.issuer,
  });
  expect(session.describe().expiresAt).toBeGreaterThan(Date.now());
});

test("a rotating token is renewed once by many, and again and again", async () => {
  const world = await createRealWorld();
  const clock = createFakeClock(Date.now());
  const session = world.session({ clock, limits: { requestMs: 1e9, discoveryMs: 1e9 } });
  await session.signIn(world.person);
  const credential = createOAuthCredential({ session });
  const before = world.authorization.count("/token");
  for (let round = 1; round <= 3; round += 1) {
    clock.advance(3_600_000);
    const all = await Promise.all(Array.from({ length: 64 }, () => callTool(world.tool, credential)));
    expect(all.every(({ status, attempts }) => status === 200 && attempts === 1)).toBe(true);
    expect(world.authorization.count("/token")).toBe(before + round);
  }
});

test("a refresh token that was used elsewhere is dead, and a person is asked once", async () => {
  const world = await createRealWorld();
  const clock = createFakeClock(Date.now());
  const limits = { requestMs: 1e9, discoveryMs: 1e9 };
  const session = world.session({ clock, limits });
  const { record } = await session.signIn(world.person);
  // A thief refreshes first: oidc-provider then ends the whole grant when the token comes back.
  const form = {
    grant_type: "refresh_token",
    refresh_token: record.refreshToken ?? "",
    client_id: record.clientId,
    resource: record.resource,
  };
  expect(
    (await fetch(`${world.authorization.issuer}/token`, { method: "POST", body: new URLSearchParams(form) })).status,
  ).toBe(200);
  clock.advance(3_600_000);
  const credential = createOAuthCredential({ session, signIn: world.person });
  const all = await Promise.all(Array.from({ length: 8 }, () => callTool(world.tool, credential)));
  expect(all.every(({ status }) => status === 200)).toBe(true);
  expect(world.asked.map(({ reason }) => reason)).toEqual(["asked", "dead"]);
});

test("a person signs in on another device, with a code", async () => {
  const world = await createRealWorld();
  const clock = createFakeClock(Date.now());
  const session = world.session({ clock, limits: { requestMs: 1e9, discoveryMs: 1e9, signInMs: 1e9 } });
  let isDone = false;
  const signedIn = session.signIn(world.person, { way: "device" }).finally(() => {
    isDone = true;
  });
  while (!isDone) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    clock.advance(1000);
  }
  expect((await signedIn).record).toMatchObject({ tokenType: "Bearer", identity: "ada" });
  expect(world.asked[0]?.way).toMatchObject({ kind: "device", userCode: expect.stringMatching(/^\w{4}-\w{4}$/) });
  expect(await callTool(world.tool, createOAuthCredential({ session }))).toMatchObject({ status: 200, attempts: 1 });
  // The same registration serves a browser afterwards.
  await session.signIn(world.person);
  expect(world.authorization.count("/reg")).toBe(1);
});

test("a sign-out ends both tokens at the server", async () => {
  const world = await createRealWorld();
  const session = world.session();
  await session.signIn(world.person);
  expect(await session.signOut()).toMatchObject({
    wiped: [{ refreshToken: { kind: "revoked" }, accessToken: { kind: "revoked" } }],
    proof: { kind: "refused" },
  });
});

describe("a client that was registered by hand", () => {
  const redirect = { port: 0 };
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const machine = { grant_types: ["client_credentials"], redirect_uris: [], response_types: [] };
  const clients = [
    {
      ...machine,
      client_id: "basic",
      client_secret: "s3cret:with/odd+chars",
      token_endpoint_auth_method: "client_secret_basic",
    },
    {
      ...machine,
      client_id: "post",
      client_secret: "s3cret-of-post",
      token_endpoint_auth_method: "client_secret_post",
    },
    {
      ...machine,
      client_id: "signer",
      token_endpoint_auth_method: "private_key_jwt",
      jwks: { keys: [publicKey.export({ format: "jwk" })] },
    },
  ];
  const pem = privateKey.export({ format: "pem", type: "pkcs8" }).toString();

  test.each([
    ["Basic", { clientId: "basic", clientSecret: "s3cret:with/odd+chars" }],
    ["the body", { clientId: "post", clientSecret: "s3cret-of-post", authentication: "client_secret_post" as const }],
    ["a signature", { clientId: "signer", privateKey: pem }],
  ])("gets tokens of its own, and shows itself by %s", async (_, client) => {
    const world = await createRealWorld({ clients });
    world.tool.scopesSupported = ["notes:read"];
    const session = world.session({ client, grant: { kind: "client-credentials" }, redirect });
    const credential = createOAuthCredential({ session });
    expect(await callTool(world.tool, credential)).toMatchObject({ status: 200, attempts: 2 });
    expect(await callTool(world.tool, credential)).toMatchObject({ status: 200, attempts: 1 });
    expect(world.authorization.count("/token")).toBe(1);
  });

  test("that is refused is a failure that says so, and is left alone for a while", async () => {
    const world = await createRealWorld({ clients });
    const session = world.session({
      client: { clientId: "basic", clientSecret: "wrong-secret" },
      grant: { kind: "client-credentials" },
    });
    const credential = createOAuthCredential({ session });
    for (let call = 0; call < 3; call += 1) {
      const { status, code, reason } = await callTool(world.tool, credential);
      expect({ status, code }).toEqual({ status: 401, code: "TOKEN_REFUSED" });
      expect(reason).not.toContain("wrong-secret");
    }
    expect(world.authorization.count("/token")).toBe(1);
  });
});

test.each([false, true])(
  "tokens are bound to a key that stays with them; a nonce is demanded: %s",
  async (requiresNonce) => {
    const world = await createRealWorld({ requiresNonce });
    const clock = createFakeClock(Date.now());
    const limits = { requestMs: 1e9, discoveryMs: 1e9 };
    const first = world.session({ clock, limits, bindsTokens: true });
    const { record } = await first.signIn(world.person);
    expect(record.tokenType).toBe("DPoP");
    const second = world.session({ clock, limits, bindsTokens: true });
    clock.advance(3_600_000);
    const renewed = await second.current();
    expect(renewed?.record).toMatchObject({ tokenType: "DPoP", proofKey: record.proofKey });
    expect(renewed?.record.accessToken).not.toBe(record.accessToken);
  },
);
