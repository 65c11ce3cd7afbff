import type { Provider } from "@wirescope/quirks";
import { describe, expect, test } from "vitest";
import { providerHint } from "../../causes/provider-codes.js";
import { knownIssuer } from "./discovery/known-issuers.js";
import type { OAuthLoginOptions } from "./login/login-options.js";
import { currentToken, replaceToken } from "./oauth-world.test.helper.js";
import { createProviderWorld } from "./provider-world.test.helper.js";

const publicClient = { client: { clientId: "registered-client" } };
const secretClient = { client: { clientId: "registered-client", clientSecret: "registered-secret" } };

describe("[TS-D-OAUTH-10] a known provider", () => {
  test.each<[Provider, Partial<OAuthLoginOptions>, refreshes: boolean]>([
    ["entra", publicClient, true],
    ["google", secretClient, true],
    ["auth0", { ...publicClient, authorizeParameters: { audience: "https://tools.example.com/mcp" } }, true],
    ["okta", publicClient, true],
    ["github", secretClient, false],
    ["slack", publicClient, false],
    ["atlassian", {}, true],
  ])(
    "%s signs a person in, with no setting other than what only its operator can issue",
    async (name, given, refreshes) => {
      const world = await createProviderWorld(name);
      const session = world.session(given);
      expect(await world.call(session)).toBe(200);
      expect(world.pages).toHaveLength(1);
      expect(world.pages[0]?.searchParams.has("prompt")).toBe(false);
      expect(session.describe()).toMatchObject({
        isSignedIn: true,
        canRefresh: refreshes,
        issuer: world.provider.issuer,
      });
      if (!refreshes) return;
      world.provider.endAllAccess();
      const renewed = await replaceToken(session, await currentToken(session));
      expect(renewed).toBeDefined();
      expect(await world.call(session)).toBe(200);
      expect(world.pages).toHaveLength(1);
    },
  );

  test("Entra ID gets PKCE, a redirect to localhost and offline_access, and no resource in any request", async () => {
    const world = await createProviderWorld("entra");
    await world.call(world.session(publicClient));
    const [page] = world.pages;
    expect(page?.searchParams.get("code_challenge_method")).toBe("S256");
    expect(page?.searchParams.get("redirect_uri")).toMatch(/^http:\/\/localhost:\d+\/callback$/);
    expect(page?.searchParams.get("scope")).toContain("offline_access");
    for (const { query, form } of world.provider.requests) {
      expect([query.has("resource"), form.has("resource")]).toEqual([false, false]);
    }
  });

  test("Google gets access_type=offline, unless a setting says otherwise", async () => {
    const world = await createProviderWorld("google");
    const session = world.session({ ...secretClient, authorizeParameters: { access_type: "online" } });
    expect(await world.call(session)).toBe(200);
    expect(world.pages[0]?.searchParams.getAll("access_type")).toEqual(["online"]);
    expect(session.describe()).toMatchObject({ canRefresh: false });
  });

  test.each<Provider>(["entra", "google", "auth0", "okta", "github", "slack"])(
    "%s does not register clients, and the error says that a client id has to be set",
    async (name) => {
      const world = await createProviderWorld(name);
      await expect(world.session().signIn(world.person)).rejects.toMatchObject({
        code: "REGISTRATION_REFUSED",
        message: expect.stringContaining("clientId"),
      });
      expect(world.pages).toEqual([]);
    },
  );

  test.each<[Provider, string, Partial<OAuthLoginOptions>]>([
    ["entra", "login.contoso.example", { assumePkce: true, resource: false, redirect: { host: "localhost" } }],
    ["google", "accounts.contoso.example", { authorizeParameters: { access_type: "offline" } }],
  ])("%s at the unknown host %s needs settings, and works with them", async (name, host, settings) => {
    const world = await createProviderWorld(name, { host });
    const session = world.session({ ...secretClient, ...settings });
    expect(await world.call(session)).toBe(200);
    expect(session.describe()).toMatchObject({ canRefresh: true });
  });

  test("a server at an unknown host whose metadata names a known issuer is refused", async () => {
    const world = await createProviderWorld("slack", { host: "mcp.slack.example" });
    await expect(world.session(publicClient).signIn(world.person)).rejects.toMatchObject({
      code: "AUTHORIZATION_SERVER_INVALID",
    });
  });
});

describe("[TS-D-OAUTH-11] the error of a sign-in", () => {
  const local = { redirect: { host: "localhost" as const } };
  const contoso = { ...publicClient, ...local, assumePkce: true };
  const newClient = { client: { clientId: "new-client", clientSecret: "registered-secret" } };
  const audience = "https://tools.example.com/mcp";

  test.each<[string, Provider, string | undefined, Partial<OAuthLoginOptions>, string, Partial<OAuthLoginOptions>]>([
    [
      "PKCE that is not listed",
      "entra",
      "login.contoso.example",
      { ...publicClient, resource: false },
      "set assumePkce",
      { ...contoso, resource: false },
    ],
    [
      "AADSTS9010010",
      "entra",
      "login.contoso.example",
      contoso,
      'Set "resource": false',
      { ...contoso, resource: false },
    ],
    [
      "AADSTS650053",
      "entra",
      undefined,
      { ...publicClient, scopes: ["mcp.read"] },
      "Set scopes",
      { ...publicClient, scopes: ["api://3f0c1111-2222-3333-4444-555555555555/mcp.tools"] },
    ],
    [
      "AADSTS90094",
      "entra",
      undefined,
      { ...publicClient, authorizeParameters: { prompt: "consent" } },
      "remove prompt",
      publicClient,
    ],
    [
      "AADSTS65001",
      "entra",
      undefined,
      newClient,
      'Set "prompt": "consent"',
      { ...newClient, authorizeParameters: { prompt: "consent" } },
    ],
    ["access_denied of Google", "google", undefined, newClient, "set clientId and clientSecret", secretClient],
    [
      "Service not found",
      "auth0",
      undefined,
      { ...publicClient, authorizeParameters: { audience: "https://x" } },
      "Set audience in authorizeParameters",
      { ...publicClient, authorizeParameters: { audience } },
    ],
  ])(
    "names the setting to change for %s, and following it signs in",
    async (_, provider, host, before, advice, after) => {
      const world = await createProviderWorld(provider, { host });
      const failure = await world
        .session(before)
        .signIn(world.person)
        .catch((error: unknown) => error);
      expect(failure).toMatchObject({ message: expect.stringContaining(advice) });
      expect(await world.call(world.session(after))).toBe(200);
    },
  );

  test("names the setting to change for AADSTS901002, for a request with a resource and without scopes", () => {
    const said = "invalid_request: AADSTS901002: The 'resource' request parameter is not supported.";
    expect(providerHint(said)).toMatchObject({ code: "resource-rejected", write: '"oauth": {"resource": false}' });
  });

  test("warns in the advice to send no resource, because any authorization server can ask for that", () => {
    expect(providerHint("AADSTS9010010", "https://evil.example")?.advice).toMatch(
      /only for a server that you trust\.$/,
    );
  });

  test("reports nothing for a token of Auth0 without an audience, which only the tool server rejects", async () => {
    const world = await createProviderWorld("auth0");
    expect(await world.call(world.session(publicClient))).toBe(401);
  });
});

describe("[TS-D-OAUTH-10] an issuer", () => {
  test.each([
    "https://login.microsoftonline.com.evil.example/t/v2.0",
    "https://evil.example/login.microsoftonline.com/v2.0",
    "https://login.microsoftonline.com@evil.example/t/v2.0",
    "https://user@login.microsoftonline.com/t/v2.0",
    "https://login.microsoftonline.com:8443/t/v2.0",
    "http://login.microsoftonline.com/t/v2.0",
    "https://xlogin.microsoftonline.com/t/v2.0",
    "https://login.microsoftonline.com/t",
    "https://accounts.google.com.evil.example",
    "https://evil.auth0.com.example",
    "https://slack.com.evil.example",
    "https://evil-atlassian.com",
    "not a url",
  ])("%s is not mistaken for a known one", (issuer) => {
    expect(knownIssuer(issuer)).toBeUndefined();
  });

  test.each([
    ["https://login.microsoftonline.com/organizations/v2.0", "Microsoft Entra ID"],
    ["https://login.microsoftonline.us/contoso.com/v2.0", "Microsoft Entra ID"],
    ["https://acme.auth0.com/", "Auth0"],
    ["https://acme.eu.auth0.com/", "Auth0"],
    ["https://acme.okta.com/oauth2/default", "Okta"],
  ])("%s is one of %s", (issuer, name) => {
    expect(knownIssuer(issuer)?.name).toBe(name);
  });
});
