import { startHostileAuthorizationServer } from "@wirescope/quirks";
import { describe, expect, test } from "vitest";
import { createFakeClock } from "../../../fake-clock.test.helper.js";
import { startHostileServer } from "../../../http/hostile-http-server.test.helper.js";
import { describeCredentialContract } from "../../credentials/credential-contract.test.helper.js";
import { interceptWrites } from "../../vault/vault-contract.test.helper.js";
import { callTool, createOAuthWorld, currentToken } from "../oauth-world.test.helper.js";
import { createOAuthCredential } from "./oauth-credential.js";

describeCredentialContract("OAuth", async (secrets) => {
  const world = await createOAuthWorld([], { secrets });
  const clock = createFakeClock(Date.now());
  const limits = { requestMs: 1e9, discoveryMs: 1e9 };
  const { record } = await world.session({ clock }).signIn(world.person);
  const session = world.session({ clock, limits });
  return {
    credential: createOAuthCredential({ session }),
    secrets: [record.accessToken, record.refreshToken ?? ""],
    work: () => world.authorization.count("/token", "refresh_token"),
    expire: () => clock.advance(3_600_000),
  };
});

describe("a 403 to a request without a token", () => {
  const forbidding = async (headers: Readonly<Record<string, string>>): Promise<{ readonly url: string }> => {
    const server = await startHostileServer((request, response) => {
      const status = request.headers.authorization === undefined ? 403 : 200;
      response.writeHead(status, headers).end();
    });
    return { url: server.url.href };
  };

  test("advises to sign in if the server asks for a token", async () => {
    const world = await createOAuthWorld();
    const tool = await forbidding({ "www-authenticate": "Bearer" });
    expect(await callTool(tool, world.credential(tool).credential)).toMatchObject({
      status: 403,
      attempts: 1,
      reason: "403 Forbidden: sign-in required.",
      advice: "Sign in with: wirescope login notes",
      code: "SIGN_IN_NEEDED",
    });
  });

  test("advises a key or a sign-in if the server does not say what it needs", async () => {
    const world = await createOAuthWorld();
    const tool = await forbidding({});
    expect(await callTool(tool, world.credential(tool).credential)).toMatchObject({
      status: 403,
      reason: "403 Forbidden: the server does not say how to sign in.",
      advice: "If it needs an API key, configure a header for it. If it supports OAuth: wirescope login notes",
      code: "FORBIDDEN",
    });
  });

  test("starts no sign-in if the server does not ask for a token, even if a user is present", async () => {
    const world = await createOAuthWorld();
    const tool = await forbidding({});
    const { credential } = world.credential(tool, world.person);
    expect(await callTool(tool, credential)).toMatchObject({ status: 403, attempts: 1, code: "FORBIDDEN" });
  });

  test("lets a user sign in, if one is present", async () => {
    const world = await createOAuthWorld();
    const tool = await forbidding({ "www-authenticate": "Bearer" });
    const { credential } = world.credential({ ...tool, issuer: world.authorization.issuer }, world.person);
    expect(await callTool(tool, credential)).toMatchObject({ status: 200, attempts: 2 });
  });

  test("reports why the last sign-in failed if the server does not say what it needs", async () => {
    const world = await createOAuthWorld();
    const tool = await forbidding({});
    const { session, credential } = world.credential(tool);
    await expect(session.signIn(world.person)).rejects.toThrow("403");
    expect(await callTool(tool, credential)).toMatchObject({
      code: "FORBIDDEN",
      reason: expect.stringMatching(
        /^403 Forbidden: the server does not say how to sign in\. The last sign-in failed: .*403/,
      ),
      advice: "If it needs an API key, configure a header for it.",
    });
  });
});

test("reports a 403 to a request with a token as an account without access, and neither renews nor asks for another", async () => {
  const world = await createOAuthWorld();
  const { url } = await startHostileServer((_, response) => response.writeHead(403).end());
  const tool = { url: url.href };
  const { session, credential } = world.credential({ ...tool, issuer: world.authorization.issuer }, world.person);
  await session.signIn(world.person);
  const requests = world.authorization.requests.length;
  expect(await callTool(tool, credential)).toMatchObject({
    status: 403,
    attempts: 1,
    reason: "403 Forbidden: the account has no access.",
    code: undefined,
  });
  expect(world.authorization.requests).toHaveLength(requests);
});

test("[TS-SEC-6] sends no token until there is one, and then a Bearer header", async () => {
  const world = await createOAuthWorld();
  const { credential } = world.credential({}, world.person);
  expect(await credential.headers()).toEqual({});
  await callTool(world.tool, credential);
  const headers = await credential.headers();
  expect(Object.keys(headers)).toEqual(["Authorization"]);
  expect(headers.Authorization).toMatch(/^Bearer access-/);
  expect(credential.describe()).toMatchObject({
    kind: "oauth",
    headers: [{ name: "Authorization", from: "oauth", scheme: "Bearer" }],
    oauth: {
      isSignedIn: true,
      issuer: world.authorization.issuer,
      scopes: ["notes:read", "offline_access"],
      canRefresh: true,
    },
  });
});

describe("a 401 without an OAuth challenge", () => {
  async function startKeyServer(challenge: Record<string, string>): Promise<string> {
    const { url } = await startHostileServer(({ url }, response) =>
      response.writeHead(url === "/mcp" ? 401 : 404, challenge).end("X-Api-Key is missing"),
    );
    return new URL("/mcp", url).href;
  }

  test.each([
    ["without a challenge", {}],
    ["with a challenge of another scheme", { "www-authenticate": 'ApiKey realm="notes"' }],
  ] as const)(
    "reports a 401 without an OAuth challenge as UNAUTHORIZED (%s), not as a needed sign-in",
    async (_, challenge) => {
      const world = await createOAuthWorld();
      const url = await startKeyServer({ ...challenge });
      const call = await callTool({ url }, world.credential({ url }).credential);
      expect(call).toMatchObject({
        status: 401,
        attempts: 1,
        code: "UNAUTHORIZED",
        reason: "401 Unauthorized: the server does not say how to sign in.",
        advice: "If it needs an API key, configure a header for it. If it supports OAuth: wirescope login notes",
      });
    },
  );

  test("reports why the last sign-in failed, and does not advise to sign in again", async () => {
    const world = await createOAuthWorld();
    const url = await startKeyServer({});
    const { session, credential } = world.credential({ url });
    await expect(session.signIn(world.person)).rejects.toThrow("404");
    expect(session.describe().issuer).toBeUndefined();
    expect(await callTool({ url }, credential)).toMatchObject({
      code: "UNAUTHORIZED",
      reason: expect.stringMatching(
        /^401 Unauthorized: the server does not say how to sign in\. The last sign-in failed: .*404/,
      ),
      advice: "If it needs an API key, configure a header for it.",
    });
  });

  test("reports SIGN_IN_NEEDED if the server asks for a token after all", async () => {
    const world = await createOAuthWorld();
    const url = await startKeyServer({ "www-authenticate": "Bearer" });
    expect(await callTool({ url }, world.credential({ url }).credential)).toMatchObject({ code: "SIGN_IN_NEEDED" });
  });

  test("the advice to sign in is safe to paste for any server name", async () => {
    const world = await createOAuthWorld();
    const url = await startKeyServer({});
    const { advice } = await callTool({ url }, world.credential({ url, server: "notes; id" }).credential);
    expect(advice).toContain("wirescope login 'notes; id'");
  });
});

test("other headers of the entry are sent too, and Authorization must not be configured", async () => {
  const world = await createOAuthWorld();
  const session = world.session();
  await session.signIn(world.person);
  const credential = createOAuthCredential({ session, headers: [{ name: "X-Workspace-ID", value: "w1" }] });
  expect(Object.keys(await credential.headers())).toEqual(["X-Workspace-ID", "Authorization"]);
  for (const name of ["authorization", "Authorization", "DPoP"]) {
    expect(() => createOAuthCredential({ session, headers: [{ name, value: "x" }] })).toThrow(TypeError);
  }
});

describe("[TS-OAUTH-11] additional scopes", () => {
  test("additional scopes are requested together with the previous ones, and named", async () => {
    const world = await createOAuthWorld();
    const { credential } = world.credential({}, world.person);
    await callTool(world.tool, credential);
    world.tool.neededScope = "notes:write";
    expect(await callTool(world.tool, credential)).toMatchObject({ status: 200, attempts: 2 });
    expect(world.signInRequests[1]).toMatchObject({
      reason: "step-up",
      scopes: ["notes:read", "offline_access", "notes:write"],
      newScopes: ["notes:write"],
    });
    expect(world.authorization.count("/register")).toBe(1);
  });

  test("additional scopes require a user, and the error names them", async () => {
    const world = await createOAuthWorld();
    await world.session().signIn(world.person);
    world.tool.neededScope = "notes:write";
    const call = await callTool(world.tool, world.credential().credential);
    expect(call).toMatchObject({ status: 403, attempts: 1, code: "SIGN_IN_NEEDED" });
    expect(call.reason).toContain("notes:write");
  });

  test("scopes that were needed while no user was present are requested at the next sign-in, once", async () => {
    const world = await createOAuthWorld();
    const session = world.session();
    await session.signIn(world.person);
    const credential = createOAuthCredential({ session });
    world.tool.neededScope = "notes:write";
    await callTool(world.tool, credential);
    await session.signIn(world.person);
    expect(world.signInRequests[1]).toMatchObject({ newScopes: ["notes:write"] });
    expect(await callTool(world.tool, credential)).toMatchObject({ status: 200, attempts: 1 });
    await session.signOut();
    world.tool.neededScope = "notes:read";
    await session.signIn(world.person);
    expect(world.signInRequests[2]?.scopes).not.toContain("notes:write");
  });

  test("scopes that were requested but not granted are not requested again", async () => {
    const world = await createOAuthWorld();
    world.tool.challengedScope = "admin";
    const { credential } = world.credential({}, world.person);
    await callTool(world.tool, credential);
    world.signInRequests.length = 0;
    // The token has the scope, and the server refuses it anyway.
    world.tool.neededScope = "admin";
    world.authorization.scopesOf = () => [];
    const call = await callTool(world.tool, credential);
    expect(call).toMatchObject({ status: 403, attempts: 1 });
    expect(call.code).toBeUndefined();
    expect(world.signInRequests).toEqual([]);
  });

  test("a server that demands more and more scopes is refused", async () => {
    const world = await createOAuthWorld();
    const { credential } = world.credential({}, world.person);
    await callTool(world.tool, credential);
    world.tool.quirks.add("resource-wants-more");
    world.signInRequests.length = 0;
    for (let call = 0; call < 12; call += 1) expect((await callTool(world.tool, credential)).status).toBe(403);
    expect(world.signInRequests).toHaveLength(5);
  });

  test("scopes of concurrent calls are requested once", async () => {
    const world = await createOAuthWorld();
    const { credential } = world.credential({}, world.person);
    await callTool(world.tool, credential);
    world.tool.neededScope = "notes:write";
    const all = await Promise.all(Array.from({ length: 10 }, () => callTool(world.tool, credential)));
    expect(all.every(({ status }) => status === 200)).toBe(true);
    expect(world.signInRequests).toHaveLength(2);
  });
});

describe("another authorization server than before", () => {
  test("[TS-D-OAUTH-1] another authorization server than before needs confirmation, and gets nothing of the old one (CVE-2026-104850)", async () => {
    const world = await createOAuthWorld();
    const evil = await startHostileAuthorizationServer();
    const { credential, session } = world.credential({}, world.person);
    await callTool(world.tool, credential);
    const before = await currentToken(session);
    world.authorization.endAccess(before?.record.accessToken ?? "");
    world.authorization.endRefreshTokens();
    world.tool.authorizationServers = [evil.issuer];
    expect(await callTool(world.tool, credential)).toMatchObject({ status: 401, code: "ISSUER_CHANGED" });
    expect(world.signInRequests).toHaveLength(1);
    expect(evil.requests.every(({ path }) => path.startsWith("/.well-known/"))).toBe(true);
    expect(JSON.stringify(evil.requests)).not.toContain(before?.record.clientId);
    await evil.close();
  });

  test("another authorization server is used once the user confirms it, with its own registration and tokens", async () => {
    const world = await createOAuthWorld();
    const next = await startHostileAuthorizationServer();
    await world.session().signIn(world.person);
    world.tool.authorizationServers = [next.issuer];
    const changes: unknown[] = [];
    const session = world.session();
    const { record } = await session.signIn({
      ...world.person,
      async confirm(change) {
        changes.push(change);
        return true;
      },
    });
    expect(changes).toEqual([{ kind: "issuer", server: "notes", from: world.authorization.issuer, to: next.issuer }]);
    expect(next.count("/register")).toBe(1);
    expect(next.scopesOf(record.accessToken)).toBeDefined();
    expect((await currentToken(world.session()))?.record.accessToken).toBe(record.accessToken);
    expect(session.describe().issuer).toBe(next.issuer);
    await next.close();
  });

  test("never gives a refresh token to an authorization server that only an attacker names", async () => {
    const world = await createOAuthWorld();
    const clock = createFakeClock(Date.now());
    const limits = { requestMs: 1e9, discoveryMs: 1e9 };
    await world.session({ clock }).signIn(world.person);
    const evil = await startHostileAuthorizationServer();
    world.tool.authorizationServers = [evil.issuer];
    clock.advance(3_600_000);
    expect((await currentToken(world.session({ clock, limits })))?.record.accessToken).toMatch(/^access-/);
    expect(evil.requests).toEqual([]);
    await evil.close();
  });
});

test("[TS-SEC-7] profiles, servers, urls and tenants share no tokens (CVE-2026-51996)", async () => {
  const world = await createOAuthWorld();
  await world.session().signIn(world.person);
  const others = [
    { profile: "production" },
    { server: "other" },
    { url: `${world.tool.origin}/mcp2` },
    { tenant: "t2" },
  ];
  for (const other of others) expect(await currentToken(world.session(other))).toBeUndefined();
  expect(await currentToken(world.session())).toBeDefined();
});

test("a failed sign-in is not started again automatically for a while", async () => {
  const world = await createOAuthWorld(["redirect-denied"]);
  const { credential } = world.credential({}, world.person);
  for (let call = 0; call < 4; call += 1) expect((await callTool(world.tool, credential)).status).toBe(401);
  expect(world.signInRequests).toHaveLength(1);
});

test("[TS-SEC-5] no secret is in an error, an event or a description, even if the server echoes it", async () => {
  const world = await createOAuthWorld(["token-echo", "registration-secret"]);
  const clock = createFakeClock(Date.now());
  const { credential, session } = world.credential({ clock, limits: { requestMs: 1e9, discoveryMs: 1e9 } });
  const { record } = await session.signIn(world.person);
  clock.advance(3_600_000);
  world.authorization.endRefreshTokens();
  const output = [
    JSON.stringify(await credential.headers().catch(String)),
    JSON.stringify(world.events),
    JSON.stringify(credential.describe()),
  ];
  const forms = world.authorization.requests.flatMap(({ form, query }) => [
    form.get("code"),
    form.get("code_verifier"),
    query.get("code"),
  ]);
  const basic = world.authorization.requests.map(({ headers }) => headers.authorization?.replace("Basic ", ""));
  const secrets = [record.accessToken, record.refreshToken, ...forms, ...basic].filter(
    (text) => typeof text === "string",
  );
  expect(secrets.length).toBeGreaterThan(5);
  for (const secret of secrets) {
    expect(output.join("\n")).not.toContain(secret);
    expect(world.secrets.redact(`<${secret}>`)).not.toContain(secret);
  }
});

test("tokens and client secrets are registered as secrets before they are stored", async () => {
  const world = await createOAuthWorld(["registration-secret"]);
  const kept: string[] = [];
  const vault = interceptWrites(world.vault, (_, value, write) => {
    for (const name of ["accessToken", "refreshToken", "clientSecret"]) {
      const secret = value[name];
      if (typeof secret !== "string") continue;
      kept.push(name);
      expect(world.secrets.redact(`<${secret}>`)).not.toContain(secret);
    }
    return write(value);
  });
  await world.session({ vault }).signIn(world.person);
  expect(kept).toEqual(["clientSecret", "accessToken", "refreshToken"]);
});
