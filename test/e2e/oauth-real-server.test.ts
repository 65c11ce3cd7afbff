import { generateKeyPairSync } from "node:crypto";
import { createSecretRegistry, createToolServers } from "@wirescope/tool-server";
import { createMemoryVault, createOAuthCredential } from "@wirescope/tool-server/auth";
import { parseConfiguration } from "@wirescope/tool-server/config";
import { describe, expect, onTestFinished, test } from "vitest";
import { createBrowser } from "./browser.test.helper.js";
import { startGuard } from "./gateway-matrix.test.helper.js";
import { createLeapingClock, createRealWorld } from "./oauth-world.test.helper.js";
import { startRealAuthorizationServer } from "./real-authorization-server.test.helper.js";
import { startEverything } from "./real-servers.test.helper.js";

const hour = 3_600_000;

test("signs a person in with a browser: registration, PKCE, resource, identity, refresh token", async () => {
  const world = await createRealWorld();
  const session = world.session();
  const credential = createOAuthCredential({ session, signIn: world.person });
  expect(await world.call(credential)).toMatchObject({ status: 200, attempts: 2 });
  expect(world.asked[0]?.scopes).toEqual(["openid", "notes:read", "offline_access"]);
  expect(world.pages[0]).toMatchObject({ status: 200, html: expect.stringContaining("Signed in to notes") });
  expect(session.describe()).toMatchObject({
    isSignedIn: true,
    account: "ada",
    canRefresh: true,
    issuer: world.authorization.issuer,
  });
  expect(session.describe().expiresAt).toBeGreaterThan(Date.now());
});

test('[TS-D-OAUTH-9] a server that gives a refresh token only after a new consent gives one with "prompt": "consent"', async () => {
  const world = await createRealWorld({ needsConsent: true });
  const events: string[] = [];
  const without = world.session();
  without.context.log.subscribe(({ text }) => events.push(text));
  await without.signIn(world.person);
  expect(without.describe()).toMatchObject({ isSignedIn: true, canRefresh: false });
  expect(events.at(-1)).toContain('set "prompt": "consent" in its OAuth settings');
  const session = world.session({ authorizeParameters: { prompt: "consent" } });
  await session.signIn(world.person);
  expect(session.describe()).toMatchObject({ isSignedIn: true, canRefresh: true });
});

test("refreshes a rotating token once for many callers, again and again", async () => {
  const world = await createRealWorld();
  const clock = createLeapingClock();
  const session = world.session({ clock });
  await session.signIn(world.person);
  const credential = createOAuthCredential({ session });
  const before = world.authorization.count("/token");
  for (let round = 1; round <= 3; round += 1) {
    clock.leap(hour);
    const all = await Promise.all(Array.from({ length: 64 }, () => world.call(credential)));
    expect(all.every(({ status, attempts }) => status === 200 && attempts === 1)).toBe(true);
    expect(world.authorization.count("/token")).toBe(before + round);
  }
});

test("asks a person once if a refresh token was used elsewhere and is therefore dead", async () => {
  const world = await createRealWorld();
  const clock = createLeapingClock();
  const session = world.session({ clock });
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
  clock.leap(hour);
  const credential = createOAuthCredential({ session, signIn: world.person });
  const all = await Promise.all(Array.from({ length: 8 }, () => world.call(credential)));
  expect(all.every(({ status }) => status === 200)).toBe(true);
  expect(world.asked.map(({ reason }) => reason)).toEqual(["asked", "dead"]);
});

test("revokes both tokens at the server at sign-out", async () => {
  const world = await createRealWorld();
  const session = world.session();
  await session.signIn(world.person);
  expect(await session.signOut()).toMatchObject({
    wiped: [{ refreshToken: { kind: "revoked" }, accessToken: { kind: "revoked" } }],
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
  ])("gets tokens without a person, and authenticates by %s", async (_, client) => {
    const world = await createRealWorld({ clients });
    world.tool.scopesSupported = ["notes:read"];
    const session = world.session({ client, grant: { kind: "client-credentials" }, redirect });
    const credential = createOAuthCredential({ session });
    expect(await world.call(credential)).toMatchObject({ status: 200, attempts: 2 });
    expect(await world.call(credential)).toMatchObject({ status: 200, attempts: 1 });
    expect(world.authorization.count("/token")).toBe(1);
  });

  test("reports a refused client as such, and does not try it again for a while", async () => {
    const world = await createRealWorld({ clients });
    const session = world.session({
      client: { clientId: "basic", clientSecret: "wrong-secret" },
      grant: { kind: "client-credentials" },
    });
    const credential = createOAuthCredential({ session });
    for (let call = 0; call < 3; call += 1) {
      const { status, failure } = await world.call(credential);
      expect({ status, code: failure?.code }).toEqual({ status: 401, code: "TOKEN_REFUSED" });
      expect(failure?.message).not.toContain("wrong-secret");
    }
    expect(world.authorization.count("/token")).toBe(1);
  });
});

test.each([false, true])(
  "binds tokens to a key that is stored with them; nonce required: %s",
  async (requiresNonce) => {
    const world = await createRealWorld({ requiresNonce });
    const clock = createLeapingClock();
    const first = world.session({ clock, bindsTokens: true });
    const { record } = await first.signIn(world.person);
    expect(record.tokenType).toBe("DPoP");
    const second = world.session({ clock, bindsTokens: true });
    clock.leap(hour);
    const renewed = await (await second.tokens())?.current();
    expect(renewed?.record).toMatchObject({ tokenType: "DPoP", proofKey: record.proofKey });
    expect(renewed?.record.accessToken).not.toBe(record.accessToken);
  },
);

test.each([
  ["http", "streamableHttp", "/mcp"],
  ["sse", "sse", "/sse"],
] as const)(
  "[TS-OAUTH-2] [TS-OAUTH-12] lets a person sign in at the first use of a server of type %s, and completes the call",
  async (type, behind, path) => {
    const authorization = await startRealAuthorizationServer();
    const { port, stop } = await startEverything(behind);
    onTestFinished(stop);
    const guard = await startGuard({
      before: port,
      isGood: async ({ authorization: sent = "" }) =>
        (await authorization.find(sent.replace(/^Bearer /, ""))) !== undefined,
      issuer: authorization.issuer,
      path,
    });
    const reasons: string[] = [];
    const secrets = createSecretRegistry();
    const vault = createMemoryVault();
    onTestFinished(() => vault.dispose());
    const entries = { reference: { type, url: `http://127.0.0.1:${guard.port}${path}` } };
    const servers = createToolServers({
      configuration: parseConfiguration(JSON.stringify(entries), { secrets }),
      variables: {},
      pluginRoot: process.cwd(),
      secrets,
      assertTrusted: async () => {},
      oauth: {
        vault,
        allowInsecureLoopback: true,
        signIn: {
          async show({ way, reason }) {
            reasons.push(reason);
            await createBrowser().open(way.url);
            return undefined;
          },
        },
      },
      settings: { info: { name: "test", version: "0" } },
    });
    onTestFinished(() => servers.close());
    const connection = await servers.open("reference");
    expect(await connection.callTool({ name: "echo", arguments: { message: "hello" } })).toMatchObject({
      content: [{ text: "Echo: hello" }],
    });
    expect(reasons).toEqual(["first"]);
  },
);
