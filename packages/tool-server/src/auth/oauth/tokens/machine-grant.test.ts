import type { LoggedRequest } from "@wirescope/quirks";
import { expect, test } from "vitest";
import { ToolServerError } from "../../../errors.js";
import { createFakeClock } from "../../../fake-clock.test.helper.js";
import type { Vault } from "../../vault/vault.js";
import { type IssuerResponse, startBareIssuer } from "../bare-issuer.test.helper.js";
import { callTool, createOAuthWorld, currentToken, type OAuthWorld } from "../oauth-world.test.helper.js";

/** A token endpoint that responds as the test says, with its metadata. */
async function startTokenEndpoint(
  responses: (request: LoggedRequest) => IssuerResponse,
  publishedIssuer = (issuer: string): string => issuer,
): Promise<{ readonly issuer: string; readonly requests: LoggedRequest[] }> {
  const requests: LoggedRequest[] = [];
  const issuer = await startBareIssuer((request, self) => {
    if (request.path.startsWith("/.well-known/")) {
      return [200, { issuer: publishedIssuer(self), token_endpoint: `${self}/token` }];
    }
    requests.push(request);
    return responses(request);
  });
  return { issuer, requests };
}

async function worldWith(issuer: string, tokens: ReadonlySet<string>): Promise<OAuthWorld> {
  const world = await createOAuthWorld();
  world.tool.authorizationServers = [issuer];
  world.authorization.scopesOf = (token) => (tokens.has(token) ? ["notes:read"] : undefined);
  return world;
}

test("a workload requests a new assertion from its platform for each token", async () => {
  const { issuer, requests } = await startTokenEndpoint(() => [
    200,
    { access_token: `w-${requests.length}`, token_type: "Bearer", expires_in: 60 },
  ]);
  const world = await worldWith(issuer, new Set(["w-1", "w-2"]));
  const clock = createFakeClock(Date.now());
  let given = 0;
  const assertion = async (): Promise<string> => {
    given += 1;
    return `platform-jwt-${given}`;
  };
  const { credential } = world.credential({
    clock,
    limits: { requestMs: 1e9, discoveryMs: 1e9 },
    grant: { kind: "workload", assertion },
  });
  expect(await callTool(world.tool, credential)).toMatchObject({ status: 200, attempts: 2 });
  clock.advance(60_000);
  expect(await callTool(world.tool, credential)).toMatchObject({ status: 200, attempts: 1 });
  expect(requests.map(({ form }) => Object.fromEntries(form))).toEqual(
    [1, 2].map((n) => ({
      grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
      assertion: `platform-jwt-${n}`,
      resource: world.tool.url,
      scope: "notes:read",
    })),
  );
  expect(world.secrets.redact("platform-jwt-1")).not.toContain("platform-jwt-1");
});

test("a token is obtained with the grant of a machine without asking anyone, and otherwise from the user", async () => {
  const { issuer, requests } = await startTokenEndpoint(() => [200, { access_token: "w-1", token_type: "Bearer" }]);
  const world = await worldWith(issuer, new Set(["w-1"]));
  const client = { clientId: "robot", clientSecret: "a-secret" };
  // The watch of a vault on a disk reports a change of this process only if it did not adopt it yet.
  const vault: Vault = { ...world.vault, watch: () => () => {} };
  const machine = world.session({ client, grant: { kind: "client-credentials" }, vault });
  const changes: string[] = [];
  machine.watch((change) => changes.push(change));
  await machine.obtainToken(world.person);
  // Ends the delay of a connection that failed before.
  expect(changes).toEqual(["signed-in"]);
  expect((await currentToken(machine))?.record.accessToken).toBe("w-1");
  expect(requests).toHaveLength(1);
  expect(world.signInRequests).toHaveLength(0);
  const withUser = await createOAuthWorld();
  const session = withUser.session();
  await session.obtainToken(withUser.person);
  expect(await currentToken(session)).toBeDefined();
  expect(withUser.signInRequests).toHaveLength(1);
});

test("a refresh token is not used instead of the grant, so that access ends with the identity", async () => {
  const { issuer, requests } = await startTokenEndpoint(() => [
    200,
    { access_token: `w-${requests.length}`, refresh_token: "r-1", token_type: "Bearer", expires_in: 60 },
  ]);
  const world = await worldWith(issuer, new Set(["w-1", "w-2"]));
  const clock = createFakeClock(Date.now());
  const { credential } = world.credential({
    clock,
    limits: { requestMs: 1e9, discoveryMs: 1e9 },
    grant: { kind: "workload", assertion: async () => "platform-jwt" },
  });
  expect(await callTool(world.tool, credential)).toMatchObject({ status: 200 });
  clock.advance(60_000);
  expect(await callTool(world.tool, credential)).toMatchObject({ status: 200, attempts: 1 });
  expect(requests.map(({ form }) => form.get("grant_type"))).not.toContain("refresh_token");
});

test("tokens of another client, grant or user are not used after the settings changed", async () => {
  const { issuer, requests } = await startTokenEndpoint(() => [
    200,
    { access_token: `w-${requests.length}`, token_type: "Bearer", expires_in: 3600 },
  ]);
  const world = await worldWith(issuer, new Set(["w-1", "w-2", "w-3"]));
  const client = { clientId: "robot", clientSecret: "a-secret" };
  const credentials = { kind: "client-credentials" } as const;
  const use = (options: Parameters<OAuthWorld["credential"]>[0]): ReturnType<typeof callTool> =>
    callTool(world.tool, world.credential(options).credential);
  expect(await use({ client, grant: credentials })).toMatchObject({ status: 200, attempts: 2 });
  expect(await use({ client, grant: credentials })).toMatchObject({ status: 200, attempts: 1 });
  expect(await use({ client: { ...client, clientId: "other" }, grant: credentials })).toMatchObject({ status: 200 });
  const grant = { kind: "workload", assertion: async () => "platform-jwt" } as const;
  expect(await use({ client: { ...client, clientId: "other" }, grant })).toMatchObject({ status: 200 });
  expect(requests).toHaveLength(3);
  expect(await use({ client: { ...client, clientId: "other" } })).toMatchObject({ code: "SIGN_IN_NEEDED" });
});

test("a valid token stays in use while the file of the platform token is replaced", async () => {
  const { issuer } = await startTokenEndpoint(() => [200, { access_token: "w-1", expires_in: 100 }]);
  const world = await worldWith(issuer, new Set(["w-1"]));
  const clock = createFakeClock(Date.now());
  let isReplaced = false;
  const assertion = async (): Promise<string> => {
    if (!isReplaced) return "platform-jwt";
    throw new ToolServerError("CONFIGURATION_UNREADABLE", { problem: "the file token is empty.", advice: "Wait." });
  };
  const limits = { requestMs: 1e9, discoveryMs: 1e9 };
  const { credential } = world.credential({ clock, limits, grant: { kind: "workload", assertion } });
  expect(await callTool(world.tool, credential)).toMatchObject({ status: 200 });
  isReplaced = true;
  clock.advance(90_000);
  expect(await callTool(world.tool, credential)).toMatchObject({ status: 200, attempts: 1 });
});

test("a refused workload does not fall back to another grant", async () => {
  const { issuer, requests } = await startTokenEndpoint(() => [400, { error: "unauthorized_client" }]);
  const world = await worldWith(issuer, new Set());
  const { credential } = world.credential(
    { grant: { kind: "workload", assertion: async () => "platform-jwt" } },
    world.person,
  );
  expect(await callTool(world.tool, credential)).toMatchObject({ status: 401, code: "TOKEN_REFUSED" });
  expect(requests).toHaveLength(1);
  expect(world.signInRequests).toEqual([]);
});

test("an organization's identity provider grants access for a user who signed in with it, to the issuer in the metadata", async () => {
  const { issuer, requests } = await startTokenEndpoint(
    () => [200, { access_token: "e-1", token_type: "Bearer" }],
    (self) => `${self}/`,
  );
  const provider = await startTokenEndpoint(() => [
    200,
    { access_token: "the-assertion", issued_token_type: "urn:ietf:params:oauth:token-type:id-jag", token_type: "N_A" },
  ]);
  const world = await worldWith(issuer, new Set(["e-1"]));
  const { credential } = world.credential({
    client: { clientId: "us", clientSecret: "our-secret" },
    grant: {
      kind: "enterprise",
      url: provider.issuer,
      identity: async () => ({
        provider: { tokenEndpoint: `${provider.issuer}/token`, client: { clientId: "us-there" } },
        idToken: "identity-of-ada",
      }),
    },
  });
  expect(await callTool(world.tool, credential)).toMatchObject({ status: 200, attempts: 2 });
  expect(Object.fromEntries(provider.requests[0]?.form ?? [])).toEqual({
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    requested_token_type: "urn:ietf:params:oauth:token-type:id-jag",
    subject_token: "identity-of-ada",
    subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
    audience: `${issuer}/`,
    resource: world.tool.url,
    scope: "notes:read",
    client_id: "us-there",
  });
  expect(requests[0]?.headers.authorization).toBe(`Basic ${Buffer.from("us:our-secret").toString("base64")}`);
  expect(requests[0]?.form.get("assertion")).toBe("the-assertion");
});

test.each([
  [[400, { error: "access_denied" }], "TOKEN_REFUSED"],
  [[503, {}], "SERVER_FAILED"],
  [[200, { access_token: "x", issued_token_type: "urn:ietf:params:oauth:token-type:access_token" }], "TOKEN_REFUSED"],
] as const)(
  "access that an identity provider does not grant (%j) is not requested elsewhere",
  async (response, code) => {
    const { issuer, requests } = await startTokenEndpoint(() => [200, { access_token: "e-1" }]);
    const provider = await startTokenEndpoint(() => response);
    const world = await worldWith(issuer, new Set(["e-1"]));
    const grant = {
      kind: "enterprise",
      url: provider.issuer,
      identity: async () => ({
        provider: { tokenEndpoint: `${provider.issuer}/token`, client: { clientId: "us" } },
        idToken: "identity-of-ada",
      }),
    } as const;
    const { credential } = world.credential({ client: { clientId: "us" }, grant });
    expect(await callTool(world.tool, credential)).toMatchObject({ status: 401, code });
    expect(requests).toEqual([]);
  },
);

test("a machine client does not authenticate at another authorization server than before", async () => {
  const first = await startTokenEndpoint(() => [200, { access_token: "m-1", expires_in: 60 }]);
  const second = await startTokenEndpoint(() => [200, { access_token: "m-2" }]);
  const world = await worldWith(first.issuer, new Set(["m-1", "m-2"]));
  const clock = createFakeClock(Date.now());
  const limits = { requestMs: 1e9, discoveryMs: 1e9 };
  const options = {
    clock,
    limits,
    client: { clientId: "us", clientSecret: "our-secret" },
    grant: { kind: "client-credentials" },
  } as const;
  expect(await callTool(world.tool, world.credential(options).credential)).toMatchObject({ status: 200 });
  world.tool.authorizationServers = [second.issuer];
  clock.advance(60_000);
  await expect(world.credential(options).credential.headers()).rejects.toMatchObject({ code: "ISSUER_CHANGED" });
  expect(second.requests).toEqual([]);
});

test("a token that is not bound to a key is not used if the settings require binding", async () => {
  const { issuer, requests } = await startTokenEndpoint(() => [
    200,
    { access_token: "token-of-nobody", token_type: "Bearer" },
  ]);
  const world = await worldWith(issuer, new Set(["token-of-nobody"]));
  const { credential } = world.credential({
    bindsTokens: true,
    client: { clientId: "robot", clientSecret: "the-client-secret" },
    grant: { kind: "client-credentials" },
  });
  expect(await callTool(world.tool, credential)).toMatchObject({
    status: 401,
    code: "TOKEN_REFUSED",
    reason: expect.stringContaining("its token is not bound to our key (DPoP)"),
    advice: "Ask the operator of the authorization server.",
  });
  expect(requests).toHaveLength(1);
});

test("a token that is bound to a key is not used if no key was sent", async () => {
  const { issuer } = await startTokenEndpoint(() => [200, { access_token: "token-of-a-key", token_type: "DPoP" }]);
  const world = await worldWith(issuer, new Set(["token-of-a-key"]));
  const client = { clientId: "robot", clientSecret: "the-client-secret" };
  const { credential } = world.credential({ client, grant: { kind: "client-credentials" } });
  expect(await callTool(world.tool, credential)).toMatchObject({
    status: 401,
    code: "TOKEN_REFUSED",
    reason: expect.stringContaining("its token is bound to a key (DPoP), and none was sent"),
  });
});

test.each([
  ["invalid_client", /^Check clientId and the secret or key/],
  ["invalid_target", /set resource in its OAuth settings\.$/],
  ["invalid_scope", /^Set scopes that it accepts/],
  ["access_denied", /^Ask the operator/],
])("a token request that is refused with %s says what to do", async (error, advice) => {
  const { issuer } = await startTokenEndpoint(() => [400, { error }]);
  const world = await worldWith(issuer, new Set());
  const client = { clientId: "robot", clientSecret: "the-client-secret" };
  const { credential } = world.credential({ client, grant: { kind: "client-credentials" } });
  expect(await callTool(world.tool, credential)).toMatchObject({
    code: "TOKEN_REFUSED",
    advice: expect.stringMatching(advice),
  });
});

test("a changed authorization server gets no secret without a user, and the advice of the error makes it the one in use", async () => {
  const token = { access_token: "the-token", token_type: "Bearer", expires_in: 60 };
  const [first, second] = [await startTokenEndpoint(() => [200, token]), await startTokenEndpoint(() => [200, token])];
  const world = await worldWith(first.issuer, new Set(["the-token"]));
  const clock = createFakeClock(Date.now());
  const options = {
    clock,
    limits: { requestMs: 1e9, discoveryMs: 1e9 },
    client: { clientId: "robot", clientSecret: "the-client-secret" },
    grant: { kind: "client-credentials" },
  } as const;
  expect(await callTool(world.tool, world.credential(options).credential)).toMatchObject({ status: 200 });
  clock.advance(60_000);
  world.tool.authorizationServers = [second.issuer];
  await expect(world.credential(options).credential.headers()).rejects.toMatchObject({
    code: "ISSUER_CHANGED",
    advice: expect.stringContaining(`set issuer to "${second.issuer}"`),
  });
  expect(second.requests).toEqual([]);
  const { credential } = world.credential({ ...options, issuer: second.issuer });
  expect(await callTool(world.tool, credential)).toMatchObject({ status: 200 });
  expect(second.requests).toHaveLength(1);
});
