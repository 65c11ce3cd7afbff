import { expect, test } from "vitest";
import { startBareIssuer } from "./bare-issuer.test.helper.js";
import { createOAuthWorld, type OAuthWorld } from "./oauth-world.test.helper.js";
import { withoutOAuthParameters } from "./requests/endpoint-rules.js";
import type { Ask, ForeignOrigin } from "./sign-in/ask.js";

/** A hostile authorization server that sends people to the page of an honest one, and asks for more than the client does. */
async function createMixUp(): Promise<OAuthWorld> {
  const world = await createOAuthWorld();
  const honest = world.authorization.origin;
  const hostile = await startBareIssuer(({ path }, self) =>
    path.startsWith("/.well-known/")
      ? [
          200,
          {
            issuer: self,
            authorization_endpoint: `${honest}/authorize?scope=admin`,
            token_endpoint: `${self}/token`,
            registration_endpoint: `${self}/register`,
            code_challenge_methods_supported: ["S256"],
          },
        ]
      : [201, { client_id: "the-honest-client", redirect_uris: [] }],
  );
  world.tool.authorizationServers = [hostile];
  return world;
}

/** A user who is asked to confirm another origin, and responds like this. */
function createDecider(person: Ask, response: boolean): { signIn: Ask; confirmations: ForeignOrigin[] } {
  const confirmations: ForeignOrigin[] = [];
  const signIn: Ask = {
    ...person,
    async confirm(question) {
      if (question.kind === "origin") confirmations.push(question);
      return response;
    },
  };
  return { signIn, confirmations };
}

test.each([
  ["nobody can be asked", undefined],
  ["the person says no", false],
] as const)(
  "[TS-D-OAUTH-5] a hostile authorization server cannot use the page of an honest one: nothing reaches it if %s",
  async (_, response) => {
    const world = await createMixUp();
    const { signIn, confirmations } = createDecider(world.person, response ?? false);
    const failed = world.session().signIn(response === undefined ? world.person : signIn);
    const [issuer] = world.tool.authorizationServers;
    const { origin } = world.authorization;
    await expect(failed).rejects.toMatchObject({
      code: "AUTHORIZATION_ORIGIN_UNCONFIRMED",
      message: expect.stringContaining(`wirescope login notes --authorization-origin ${origin}`),
      details: { foreignOrigin: { issuer, origin } },
    });
    expect(confirmations).toEqual(response === undefined ? [] : [{ kind: "origin", server: "notes", issuer, origin }]);
    expect(world.signInRequests).toEqual([]);
    expect(world.authorization.requests).toEqual([]);
  },
);

test("a token endpoint at another origin is named in the confirmation, in its error, and in what is shown before the sign-in", async () => {
  const world = await createOAuthWorld();
  const honest = world.authorization.origin;
  let page: string | undefined;
  const issuer = await startBareIssuer(({ path }, self) => [
    path === "/register" ? 201 : 200,
    {
      client_id: "us",
      issuer: self,
      authorization_endpoint: `${page ?? self}/authorize`,
      token_endpoint: `${self.replace("127.0.0.1", "localhost")}/token`,
      registration_endpoint: `${self}/register`,
      code_challenge_methods_supported: ["S256"],
    },
  ]);
  const tokenOrigin = issuer.replace("127.0.0.1", "localhost");
  world.tool.authorizationServers = [issuer];
  page = honest;
  const { signIn, confirmations } = createDecider(world.person, false);
  await expect(world.session().signIn(signIn)).rejects.toMatchObject({
    message: expect.stringContaining(`Tokens would be requested from ${tokenOrigin}.`),
    details: { foreignOrigin: { issuer, origin: honest, tokenOrigin } },
  });
  expect(confirmations).toEqual([{ kind: "origin", server: "notes", issuer, origin: honest, tokenOrigin }]);
  page = undefined;
  const shown: (string | undefined)[] = [];
  const leaving: Ask = {
    async show(request) {
      shown.push(request.tokenOrigin);
      throw new Error("The user has seen enough.");
    },
  };
  await expect(world.session().signIn(leaving)).rejects.toMatchObject({ code: "SIGN_IN_FAILED" });
  expect(shown).toEqual([tokenOrigin]);
  world.tool.authorizationServers = [honest];
  await world.session({ profile: "other" }).signIn(world.person);
  expect(world.signInRequests.at(-1)?.tokenOrigin).toBeUndefined();
});

test("another origin that a user confirmed is used and remembered", async () => {
  const world = await createOAuthWorld(["endpoint-other-origin"]);
  const { signIn, confirmations } = createDecider(world.person, true);
  await world.session().signIn(signIn);
  expect(confirmations.map(({ origin }) => origin)).toEqual([
    world.authorization.origin.replace("127.0.0.1", "localhost"),
  ]);
  // Also in another process, and if no user could be asked.
  await world.session().signIn(world.person);
  expect(world.signInRequests).toHaveLength(2);
  world.authorization.quirks.delete("endpoint-other-origin");
  await world.session().signIn(world.person);
  expect(confirmations).toHaveLength(1);
});

test("the page of a configured authorization server needs no confirmation", async () => {
  const world = await createOAuthWorld(["endpoint-other-origin"]);
  await world.session({ issuer: world.authorization.issuer }).signIn(world.person);
  expect(world.signInRequests).toHaveLength(1);
});

test("the page for a device code is confirmed as well, before the code is shown", async () => {
  const world = await createOAuthWorld();
  const issuer = await startBareIssuer(({ path }, self) =>
    path.startsWith("/.well-known/")
      ? [200, { issuer: self, token_endpoint: `${self}/token`, device_authorization_endpoint: `${self}/device` }]
      : [200, { device_code: "d", user_code: "ABCD", verification_uri: `${world.authorization.origin}/device` }],
  );
  world.tool.authorizationServers = [issuer];
  await expect(world.session({ client: { clientId: "us" } }).signIn(world.person)).rejects.toMatchObject({
    code: "AUTHORIZATION_ORIGIN_UNCONFIRMED",
  });
  expect(world.signInRequests).toEqual([]);
});

test("[TS-D-OAUTH-5] parameters of OAuth in the query of an endpoint never reach the authorization server", async () => {
  const world = await createOAuthWorld(["endpoint-with-parameters"]);
  await world.session().signIn(world.person);
  const request = world.authorization.requests.find(({ path }) => path === "/authorize");
  expect(request?.query.getAll("scope")).toEqual(["notes:read offline_access"]);
  expect(request?.query.get("tenant")).toBe("acme");
  expect([...(request?.query.keys() ?? [])].filter((name) => /^(Scope|scope\[\]|request_uri)$/.test(name))).toEqual([]);
  expect(request?.query.get("prompt")).toBeNull();
});

test.each([
  ["https://as/a?scope=admin", "https://as/a"],
  ["https://as/a?p=policy&SCOPE=admin&tenant=x", "https://as/a?p=policy&tenant=x"],
  ["https://as/a?scope[]=a&scope[x]=b&client.id=c&response%20type=token", "https://as/a"],
  ["https://as/a?user_scope=admin&include_granted_scopes=true&optional_scope=x&tenant=y", "https://as/a?tenant=y"],
  ["https://as/a?scopes=x&my_state=y", "https://as/a?scopes=x&my_state=y"],
])("%s is used as %s", (endpoint, used) => {
  expect(withoutOAuthParameters(new URL(endpoint)).href).toBe(used);
});

test("an endpoint whose host contains shell characters is not used", async () => {
  const world = await createOAuthWorld();
  const issuer = await startBareIssuer((_, self) => [
    200,
    { issuer: self, token_endpoint: `${self}/token`, authorization_endpoint: "https://a;id/authorize" },
  ]);
  world.tool.authorizationServers = [issuer];
  await expect(world.session().signIn(world.person)).rejects.toMatchObject({
    code: "AUTHORIZATION_SERVER_INVALID",
    message: expect.stringContaining("its host contains invalid characters"),
  });
});
