import type { Quirk } from "@wirescope/quirks";
import { describe, expect, onTestFinished, test } from "vitest";
import { createOAuthCredential } from "../auth/oauth/login/oauth-credential.js";
import { vaultKeyOf } from "../auth/oauth/login-store.js";
import { callTool, createOAuthWorld, type OAuthWorld } from "../auth/oauth/oauth-world.test.helper.js";
import { writeEntry } from "../auth/vault/vault.js";
import { respondJson } from "../connection/transports/streamable-http.test.helper.js";
import { channels, type TraceEvent } from "../diagnostics.js";
import { ToolServerError } from "../errors.js";
import { startHostileServer } from "../http/hostile-http-server.test.helper.js";
import { codesOf, explainEntry, firstOf, outcomesOf, startToolServer } from "./explain.test.helper.js";
import type { ExplainOptions, Explanation } from "./explanation.js";

const login = { command: "wirescope login api" };
const signInAgain = { command: "wirescope logout api && wirescope login api" };

/** A session of the explained server, which uses the same keys of the vault. */
const sessionOf = (world: OAuthWorld) => world.session({ server: "api", tenant: "[]" });

async function signIn(world: OAuthWorld): Promise<string> {
  const { record } = await sessionOf(world).signIn(world.person);
  return record.accessToken;
}

/** Explains the tool server of a world; the result must not contain a secret of it. */
async function explainWorld(
  world: OAuthWorld,
  options: Partial<ExplainOptions> = {},
  url = world.tool.url,
): Promise<Explanation> {
  const explained = await explainEntry(
    { type: "http", url },
    {
      secrets: world.secrets,
      oauth: { profile: "test", openVault: async () => ({ ...world.vault, dispose: async () => {} }) },
      ...options,
    },
  );
  const text = JSON.stringify(explained);
  for (const token of world.authorization.issued()) expect(text).not.toContain(token);
  return explained;
}

describe("a server that requires an API key", () => {
  const refuse = (headers: Readonly<Record<string, string>>) =>
    startHostileServer((request, response) => {
      const isTool = request.url === "/mcp";
      response.writeHead(isTool ? 401 : 404, { "content-type": "application/json", ...(isTool ? headers : {}) });
      response.end(JSON.stringify({ error: "Missing X-API-Key \u001b[31m header" }));
    });

  test.each([
    ["without a challenge", {}],
    ["with a challenge of another kind", { "www-authenticate": 'ApiKey realm="api"' }],
  ])(
    "does not mistake a server that requires an API key for one with OAuth, and quotes its response: %s",
    async (_, headers) => {
      const world = await createOAuthWorld();
      const server = await refuse(headers);
      const explained = await explainWorld(world, {}, server.url.href);
      expect(firstOf(explained)).toMatchObject({
        code: "credential-missing",
        fix: { advice: expect.stringContaining("Add a credential") },
      });
      expect(codesOf(explained)).not.toContain("sign-in-needed");
      expect(codesOf(explained)).not.toContain("registration-refused");
      expect(explained.steps).toMatchObject(
        expect.arrayContaining([
          expect.objectContaining({ step: "authorization-server", outcome: "skipped" }),
          expect.objectContaining({ step: "client", evidence: [expect.stringContaining("which no metadata names")] }),
        ]),
      );
      const evidence = firstOf(explained).evidence.join(" ");
      expect(evidence).toContain("Missing X-API-Key");
      expect(evidence).not.toContain("\u001b");
    },
  );

  test("asks for a sign-in if the server sends a Bearer challenge, or publishes metadata", async () => {
    const world = await createOAuthWorld(["resource-challenge-silent"]);
    expect(firstOf(await explainWorld(world))).toMatchObject({ code: "sign-in-needed" });
    const server = await refuse({ "www-authenticate": "Bearer" });
    expect(codesOf(await explainWorld(world, {}, server.url.href))).toContain("sign-in-needed");
  });
});

describe("an entry with a static token", () => {
  const headers = { Authorization: "Bearer ${API_TOKEN}", "X-Workspace-ID": "w1" };
  const variables = { API_TOKEN: "a-token-of-mine" };

  /** A server that accepts the static token, and publishes the metadata of this world. */
  const startOffering = (world: OAuthWorld, isPublished = true) =>
    startToolServer(({ url, headers }, response) => {
      const isMetadata = url.startsWith("/.well-known/oauth-protected-resource");
      if (isMetadata && isPublished) {
        const { origin } = new URL(`http://${headers.host}`);
        const authorization_servers = [world.authorization.issuer];
        respondJson(response, JSON.stringify({ resource: `${origin}/mcp`, authorization_servers }));
      } else if (url.startsWith("/.well-known/")) response.writeHead(404).end();
      else if (headers.authorization !== "Bearer a-token-of-mine") response.writeHead(401).end();
    });

  async function explainOffer(quirks: readonly Quirk[] = [], isPublished = true, entry: object = {}) {
    const world = await createOAuthWorld(quirks);
    const { url } = await startOffering(world, isPublished);
    const oauth = { profile: "test", openVault: async () => ({ ...world.vault, dispose: async () => {} }) };
    const explained = await explainEntry({ type: "http", url: url.href, headers, ...entry }, { variables, oauth });
    expect(JSON.stringify(explained)).not.toContain("a-token-of-mine");
    // A diagnosis registers no client and signs no user in.
    expect(world.authorization.requests.every(({ method }) => method === "GET")).toBe(true);
    return { explained, world };
  }

  test("[TS-SEC-6] [TS-D-WHY-7] suggests OAuth with what to change if an entry with a static token works and the server offers OAuth", async () => {
    const { explained, world } = await explainOffer();
    expect(explained).toMatchObject({ isWell: true, causes: [] });
    expect(explained.notes).toEqual([
      {
        code: "oauth-offered",
        problem: `The server supports OAuth with ${world.authorization.issuer}. Prefer it to a token in Authorization: OAuth tokens expire, are renewed automatically and are stored encrypted.`,
        evidence: expect.arrayContaining([expect.stringContaining("/.well-known/oauth-protected-resource")]),
        fix: {
          advice: "Remove Authorization from the headers of the entry, then sign in.",
          command: "wirescope login api",
          position: { file: "/plugin/.mcp.json", line: expect.any(Number), column: expect.any(Number) },
        },
      },
    ]);
  });

  test("[TS-D-WHY-7] says that a client has to be registered first if the authorization server registers none", async () => {
    const { explained } = await explainOffer(["registration-absent"]);
    expect(explained.notes[0]?.fix).toMatchObject({
      advice: expect.stringMatching(
        /^Ask the operator of the authorization server to register a client.* Then remove Authorization from the headers/,
      ),
      write: '"api": {"clientId": "…"}',
    });
  });

  test("[TS-D-WHY-7] suggests no OAuth if there is none, it could not succeed, or the entry has no token", async () => {
    expect((await explainOffer([], false)).explained).toMatchObject({ isWell: true, notes: [] });
    expect((await explainOffer(["pkce-absent"])).explained).toMatchObject({ isWell: true, notes: [] });
    const { explained } = await explainOffer([], true, { headers: { "X-Workspace-ID": "w1" } });
    expect(explained).toMatchObject({ isWell: false, notes: [] });
  });
});

describe("a sign-in", () => {
  test("asks for a missing sign-in, and reads only metadata", async () => {
    const world = await createOAuthWorld();
    const explained = await explainWorld(world);
    expect(firstOf(explained)).toMatchObject({ code: "sign-in-needed", weight: 0.9, fix: login });
    expect(outcomesOf(explained)).toMatchObject({
      "sign-in": "skipped",
      http: "ok",
      credential: "failed",
      "authorization-server": "ok",
      client: "skipped",
    });
    expect(new Set(world.authorization.requests.map(({ method }) => method))).toEqual(new Set(["GET"]));
    expect(world.signInRequests).toEqual([]);
  });

  test("continues to the protocol with a valid sign-in, and the server works", async () => {
    const world = await createOAuthWorld();
    const tool = await startToolServer(({ url, headers }, response) => {
      const token = headers.authorization?.replace("Bearer ", "") ?? "";
      if (url.startsWith("/.well-known/oauth-protected-resource")) {
        respondJson(
          response,
          JSON.stringify({ resource: tool.url, authorization_servers: [world.authorization.issuer] }),
        );
      } else if (world.authorization.scopesOf(token) === undefined) response.writeHead(401).end();
    });
    const url = tool.url.href;
    await world.session({ server: "api", url, tenant: "[]" }).signIn(world.person);
    const explained = await explainWorld(world, {}, url);
    expect(explained).toMatchObject({ isWell: true, causes: [] });
    expect(outcomesOf(explained)).toMatchObject({
      "sign-in": "ok",
      credential: "ok",
      "authorization-server": "ok",
      protocol: "ok",
    });
    expect(
      explained.requirements.find(({ requirement }) => requirement === "the server accepts the stored token")?.outcome,
    ).toBe("ok");
  });

  test("[TS-ERR-4] reports a token that is rejected again and again as a loop: sign out and in, then check the server", async () => {
    const world = await createOAuthWorld();
    await signIn(world);
    world.tool.quirks.add("resource-refuses-all");
    const explained = await explainWorld(world);
    expect(firstOf(explained)).toMatchObject({ code: "sign-in-loop", fix: signInAgain });
    expect(firstOf(explained).fix.advice).toMatch(
      /redirect URL of the client, and the OAuth configuration of the server/,
    );
    expect(world.signInRequests.length).toBe(1);
  });

  test("[TS-ERR-5] renews the expired token of a sign-in", async () => {
    const world = await createOAuthWorld();
    await signIn(world);
    world.authorization.endAllAccess();
    const explained = await explainWorld(world);
    expect(outcomesOf(explained)["sign-in"]).toBe("ok");
    expect(explained.steps.find(({ step }) => step === "sign-in")?.evidence.join("\n")).toContain("Renewed the token.");
    expect(world.authorization.count("/token", "refresh_token")).toBe(1);
  });

  test("[TS-ERR-5] asks for a new sign-in if the token can no longer be renewed", async () => {
    const world = await createOAuthWorld();
    await signIn(world);
    world.authorization.endAllAccess();
    world.authorization.endRefreshTokens();
    const explained = await explainWorld(world);
    expect(firstOf(explained)).toMatchObject({ code: "refresh-token-dead", fix: login });
    expect(firstOf(explained).evidence.join("\n")).toContain("invalid_grant");
  });

  test("[TS-ERR-5] asks for a new sign-in if the token expired and has no refresh token", async () => {
    const world = await createOAuthWorld(["token-without-refresh"]);
    await signIn(world);
    world.authorization.endAllAccess();
    const clock = { now: () => Date.now() + 7_200_000, after: (ms: number, wake: () => void) => later(ms, wake) };
    const explained = await explainWorld(world, { clock });
    expect(firstOf(explained)).toMatchObject({ code: "token-expired", fix: login });
  });

  test("[TS-ERR-5] asks for no new sign-in if a renewal fails temporarily", async () => {
    const world = await createOAuthWorld();
    await signIn(world);
    world.authorization.endAllAccess();
    world.authorization.quirks.add("refresh-failing");
    const explained = await explainWorld(world);
    expect(firstOf(explained)).toMatchObject({ code: "refresh-failing", fix: { command: "wirescope ping api" } });
  });

  test("[TS-ERR-3] suggests signing in again with a permission that the token lacks, with the command of the error", async () => {
    const world = await createOAuthWorld();
    await signIn(world);
    world.tool.neededScope = "notes:write";
    const explained = await explainWorld(world);
    const command = "wirescope login api --scope notes:write";
    expect(firstOf(explained)).toMatchObject({ code: "scope-missing", fix: { command } });
    expect(firstOf(explained).problem).toContain("notes:write");
    const credential = createOAuthCredential({ session: sessionOf(world) });
    expect(await callTool(world.tool, credential)).toMatchObject({ advice: `Sign in with: ${command}` });
  });

  test("[TS-ERR-3] asks for a sign-in if the server responds with 403 to a request without a token", async () => {
    const world = await createOAuthWorld();
    const server = await startHostileServer((request, response) => {
      const resource = new URL("/mcp", `http://${request.headers.host}`).href;
      if (request.url === "/.well-known/oauth-protected-resource/mcp") {
        respondJson(response, JSON.stringify({ resource, authorization_servers: [world.authorization.issuer] }));
      } else if (request.url === "/mcp") {
        const challenge = 'Bearer error="insufficient_scope", scope="notes:write"';
        response.writeHead(403, { "www-authenticate": challenge }).end();
      } else response.writeHead(404).end();
    });
    const explained = await explainWorld(world, {}, new URL("/mcp", server.url).href);
    expect(firstOf(explained)).toMatchObject({
      code: "sign-in-needed",
      fix: login,
    });
    expect(JSON.stringify(explained.causes.map(({ problem, fix }) => [problem, fix]))).not.toMatch(/token/i);
  });

  test("reports tokens that cannot be read, and leaves the vault as it is", async () => {
    const world = await createOAuthWorld();
    const openVault = async () => {
      throw new ToolServerError("VAULT_KEY_WRONG", { problem: "The key is another.", advice: "" });
    };
    const explained = await explainWorld(world, { oauth: { profile: "test", openVault } });
    expect(firstOf(explained)).toMatchObject({ code: "vault-unreadable", fix: { command: "wirescope auth api" } });
    expect(outcomesOf(explained)["sign-in"]).toBe("failed");
  });
});

describe("an authorization server", () => {
  test.each([
    ["resource-of-another", "resource-mismatch"],
    ["metadata-of-another", "issuer-mismatch"],
    ["metadata-absent", "metadata-missing"],
    ["metadata-failing", "metadata-unreachable"],
    ["metadata-redirects-away", "metadata-missing"],
    ["pkce-absent", "pkce-missing"],
    ["pkce-plain", "pkce-missing"],
    ["endpoint-http", "endpoint-unsafe"],
    ["endpoint-file", "endpoint-unsafe"],
    ["endpoint-metadata-service", "endpoint-unsafe"],
    ["registration-absent", "registration-refused"],
  ] as const satisfies readonly (readonly [Quirk, string])[])(
    "reports an authorization server with the quirk %s as %s",
    async (quirk, code) => {
      const explained = await explainWorld(await createOAuthWorld([quirk]));
      expect(firstOf(explained)).toMatchObject({ code });
      expect(firstOf(explained).evidence.length).toBeGreaterThan(0);
      expect(codesOf(explained)).toContain("sign-in-needed");
    },
  );

  test.each([
    "metadata-html",
    "metadata-openid-only",
    "metadata-issuer-slash",
    "resource-metadata-at-root",
    "resource-challenge-silent",
  ] as const)("finds an authorization server with the quirk %s", async (quirk) => {
    const explained = await explainWorld(await createOAuthWorld([quirk]));
    expect(firstOf(explained).code).toBe("sign-in-needed");
    expect(outcomesOf(explained)["authorization-server"]).toBe("ok");
  });

  test("reports an authorization server whose metadata lacks what a sign-in needs", async () => {
    const world = await createOAuthWorld();
    const other = await startHostileServer((_, response) =>
      respondJson(response, JSON.stringify({ issuer: other.url.origin })),
    );
    world.tool.authorizationServers = [other.url.origin];
    const explained = await explainWorld(world);
    expect(firstOf(explained)).toMatchObject({ code: "metadata-invalid" });
    expect(firstOf(explained).evidence.join("\n")).toContain("its token_endpoint is invalid");
  });

  test("does not wait long for an authorization server that does not respond", async () => {
    const world = await createOAuthWorld(["metadata-silent"]);
    const explained = await explainWorld(world, { responseMs: 3000 });
    expect(firstOf(explained).code).toBe("metadata-unreachable");
  });

  test("reports first that the authorization server is not the previous one", async () => {
    const world = await createOAuthWorld();
    await signIn(world);
    const other = await createOAuthWorld();
    world.tool.authorizationServers = [other.authorization.issuer];
    world.authorization.endAllAccess();
    world.authorization.endRefreshTokens();
    const explained = await explainWorld(world);
    expect(firstOf(explained)).toMatchObject({ code: "issuer-changed", fix: login });
    expect(firstOf(explained).problem).toContain(other.authorization.issuer);
  });

  test("asks for a new sign-in if the authorization server no longer knows the client", async () => {
    const world = await createOAuthWorld(["token-without-refresh"]);
    await signIn(world);
    world.authorization.endAllAccess();
    world.authorization.forgetClients();
    const explained = await explainWorld(world);
    expect(firstOf(explained)).toMatchObject({ code: "client-dead", fix: login });
    expect(outcomesOf(explained).client).toBe("failed");
  });

  test("[TS-ERR-4] reports an authorization server that rejects the redirect URI, with the URI", async () => {
    const world = await createOAuthWorld(["token-without-refresh"]);
    await signIn(world);
    world.authorization.endAllAccess();
    const login = { server: "api", url: new URL(world.tool.url), owner: "", profile: "test", tenant: "[]" };
    const key = vaultKeyOf(login, world.authorization.issuer, "client");
    const client = await world.vault.get(key);
    await writeEntry(world.vault, key, { ...client?.value, redirectUri: "http://127.0.0.1:1/callback" });
    const explained = await explainWorld(world);
    expect(firstOf(explained)).toMatchObject({ code: "redirect-mismatch", fix: signInAgain });
    expect(firstOf(explained).problem).toContain("http://127.0.0.1:1/callback");
  });

  test.each([
    ["REGISTRATION_REFUSED", "registration-refused", "The authorization server did not register this client."],
    ["SIGN_IN_FAILED", "sign-in-failed", "The user denied the request."],
    ["SIGN_IN_FAILED", "approval-needed", "an administrator has to approve this client."],
    ["SIGN_IN_FAILED", "redirect-mismatch", "redirect_uri did not match."],
  ] as const)("reports the last failure %s of an authorization server as %s", async (failure, code, problem) => {
    const world = await createOAuthWorld();
    const lastFailure = new ToolServerError(failure, { problem, advice: "" }, { details: { said: problem } });
    const explained = await explainWorld(world, { lastFailure });
    expect(firstOf(explained)).toMatchObject({ code, problem });
    expect(codesOf(explained)).toContain("sign-in-needed");
  });

  test("reports a refused registration with the failure of the sign-in", async () => {
    const world = await createOAuthWorld(["registration-refused"]);
    const lastFailure = await sessionOf(world)
      .signIn(world.person)
      .catch((error: ToolServerError) => error);
    if (!ToolServerError.is(lastFailure)) throw new Error("It did not fail.");
    const explained = await explainWorld(world, { lastFailure });
    expect(firstOf(explained)).toMatchObject({ code: "registration-refused" });
    expect(firstOf(explained).problem).toContain("Not you.");
  });
});

test("[TS-DIAG-1] records sanitized headers, the progress of OAuth, refresh attempts and failures in the trace", async () => {
  const world = await createOAuthWorld();
  const token = await signIn(world);
  world.authorization.endAllAccess();
  world.authorization.endRefreshTokens();
  const events: string[] = [];
  const listen = (message: unknown): void => void events.push((message as TraceEvent).text);
  channels.trace.subscribe(listen);
  onTestFinished(() => void channels.trace.unsubscribe(listen));
  await explainWorld(world);
  const trace = events.join("\n");
  expect(trace).toMatch(/POST \S+ with Authorization: Bearer \[redacted\] returned 401; challenge: Bearer/);
  expect(trace).toContain("Renewing the token.");
  expect(trace).toMatch(/Cannot renew the token: .*invalid_grant/);
  expect(trace).toContain(`The authorization server is ${world.authorization.issuer}.`);
  expect(trace).toMatch(/refused the request/);
  expect(trace).not.toContain(token);
});

describe("the requirements of the protocol", () => {
  const outcomes = ({ requirements }: Explanation) =>
    Object.fromEntries(requirements.map(({ requirement, outcome }) => [requirement, outcome]));

  test("finds the protocol's requirements met by a valid server, except for the token of a sign-in", async () => {
    const explained = await explainWorld(await createOAuthWorld());
    expect(Object.values(outcomes(explained))).not.toContain("failed");
    expect(outcomes(explained)).toMatchObject({
      "401 has a challenge that names the resource metadata": "ok",
      "resource metadata (RFC 9728) is published": "ok",
      "its issuer is exactly the one that was named": "ok",
      "PKCE with S256 is supported": "ok",
      "a client is registered or can be": "ok",
      "the server accepts the stored token": "skipped",
    });
  });

  test("names each requirement of the protocol that a server fails", async () => {
    const explained = await explainWorld(await createOAuthWorld(["pkce-absent", "endpoint-http"]));
    expect(outcomes(explained)).toMatchObject({
      "PKCE with S256 is supported": "failed",
      "every endpoint uses https": "failed",
    });
    const without = await explainWorld(await createOAuthWorld(["resource-without-metadata"]));
    expect(outcomes(without)["resource metadata (RFC 9728) is published"]).toBe("failed");
  });
});

function later(ms: number, wake: () => void): () => void {
  const timer = setTimeout(wake, ms);
  return () => clearTimeout(timer);
}

test("advises no sign-in if a grant without a user fails, but what its failure says", async () => {
  const world = await createOAuthWorld();
  const advice = "Sign in with: wirescope login --idp https://idp.example.com";
  const assertion = async (): Promise<string> => {
    throw new ToolServerError("SIGN_IN_NEEDED", { problem: "you are not signed in to this provider.", advice });
  };
  const overrides = () => ({ grant: { kind: "workload", assertion } as const });
  const openVault = async () => ({ ...world.vault, dispose: async () => {} });
  const explained = await explainWorld(world, { oauth: { profile: "test", openVault, overrides } });
  expect(codesOf(explained)).not.toContain("sign-in-needed");
  expect(firstOf(explained).fix).toEqual({ advice });
});
