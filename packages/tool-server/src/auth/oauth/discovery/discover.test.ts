import { type Quirk, startHostileAuthorizationServer } from "@wirescope/quirks";
import { describe, expect, onTestFinished, test } from "vitest";
import { createFakeClock } from "../../../fake-clock.test.helper.js";
import type { OAuthLoginOptions } from "../login/login-options.js";
import { createOAuthWorld, currentToken, type OAuthWorld } from "../oauth-world.test.helper.js";
import { type Discovery, type DiscoveryRequest, discover, discoverIssuer, resourceOf } from "./discover.js";
import { coversResource, parseResourceMetadata, resourceMetadataUrls, serverMetadataUrls } from "./metadata.js";
import { parseResourceChallenge } from "./resource-challenge.js";

async function find(
  world: OAuthWorld,
  request: DiscoveryRequest = {},
  options: Partial<OAuthLoginOptions> = {},
): Promise<Discovery> {
  const found = await discover(world.session(options).context, { challenge: {}, ...request });
  if (found.failure !== undefined) throw found.failure;
  return found;
}

const pathsOf = ({ requests }: { requests: readonly { path: string }[] }): string[] => requests.map(({ path }) => path);

describe("the urls of metadata", () => {
  test.each([
    [
      "https://h/mcp",
      ["https://h/.well-known/oauth-protected-resource/mcp", "https://h/.well-known/oauth-protected-resource"],
    ],
    ["https://h/", ["https://h/.well-known/oauth-protected-resource"]],
    [
      "https://h/a/b/?t=1",
      [
        "https://h/.well-known/oauth-protected-resource/a/b/?t=1",
        "https://h/.well-known/oauth-protected-resource/a/b",
        "https://h/.well-known/oauth-protected-resource",
      ],
    ],
  ])("looks for the metadata of the resource %s under its path, then at the root", (server, places) => {
    expect(resourceMetadataUrls(new URL(server)).map(String)).toEqual(places);
    const named = resourceMetadataUrls(new URL(server), ["https://h/about.json"]).map(String);
    expect(named).toEqual(["https://h/about.json", ...places]);
  });

  test("the path of an issuer is inserted, and for OpenID Connect also appended", () => {
    expect(serverMetadataUrls(new URL("https://as/tenant1")).map(String)).toEqual([
      "https://as/.well-known/oauth-authorization-server/tenant1",
      "https://as/.well-known/openid-configuration/tenant1",
      "https://as/tenant1/.well-known/openid-configuration",
    ]);
    expect(serverMetadataUrls(new URL("https://as")).map(String)).toEqual([
      "https://as/.well-known/oauth-authorization-server",
      "https://as/.well-known/openid-configuration",
    ]);
  });

  test("the metadata url of the challenge is requested first, and no other if it is right", async () => {
    const world = await createOAuthWorld(["resource-metadata-elsewhere"]);
    const { resource } = await find(world, { challenge: { resourceMetadata: [`${world.tool.origin}/about/me.json`] } });
    expect(resource).toBe(world.tool.url);
    expect(pathsOf(world.tool)).toEqual(["/about/me.json"]);
  });

  test("each metadata url of a challenge is tried in order, until one describes this server", async () => {
    const world = await createOAuthWorld(["resource-metadata-elsewhere"]);
    const { origin } = world.tool;
    const header = [
      `Bearer resource_metadata="${origin}/gone-1", resource_metadata="${origin}/gone-2"`,
      `DPoP resource_metadata="${origin}/about/me.json"`,
      `Bearer resource_metadata="${origin}/never-asked"`,
    ].join(", ");
    expect((await find(world, { challenge: parseResourceChallenge(header) })).resource).toBe(world.tool.url);
    expect(pathsOf(world.tool)).toEqual(["/gone-1", "/gone-2", "/about/me.json"]);
  });

  test("tries at most four metadata urls of a challenge before the well-known ones", () => {
    const challenged = Array.from({ length: 9 }, (_, index) => `https://h/${index}`);
    expect(resourceMetadataUrls(new URL("https://h/"), challenged).map(String)).toEqual([
      ...challenged.slice(0, 4),
      "https://h/.well-known/oauth-protected-resource",
    ]);
  });

  test.each(["not a url", "ftp://x/y", "http://169.254.169.254/latest/meta-data", "https://user:pw@h/x"])(
    "a forbidden metadata url in the challenge (%s) is skipped",
    async (place) => {
      const world = await createOAuthWorld();
      expect((await find(world, { challenge: { resourceMetadata: [place] } })).server.issuer).toBe(
        world.authorization.issuer,
      );
    },
  );

  test("metadata at the root is found", async () => {
    const world = await createOAuthWorld(["resource-metadata-at-root"]);
    expect((await find(world)).resource).toBe(world.tool.url);
  });

  test.each([
    ["https://h/mcp", "https://h/mcp", true],
    ["https://h/mcp/", "https://h/mcp", true],
    ["https://h", "https://h/mcp", true],
    ["https://h/mc", "https://h/mcp", false],
    ["https://h/mcp/deeper", "https://h/mcp", false],
    ["https://h:8443/mcp", "https://h/mcp", false],
    ["http://h/mcp", "https://h/mcp", false],
    ["https://h/mcp?tenant=a", "https://h/mcp?tenant=b", false],
  ])("decides whether the resource %s covers the server %s: %s", (resource, server, isCovered) => {
    expect(coversResource(new URL(resource), new URL(server))).toBe(isCovered);
  });
});

describe("the authorization server", () => {
  test.each(["metadata-openid-only", "metadata-html", "metadata-redirects-within"] as const)(
    "an authorization server is found in spite of %s",
    async (quirk) => {
      const world = await createOAuthWorld([quirk]);
      expect((await find(world)).server.issuer).toBe(world.authorization.issuer);
    },
  );

  test.each([
    ["metadata-of-another", "its issuer is"],
    ["metadata-redirects-away", "publishes no metadata"],
    ["metadata-huge", "publishes no metadata"],
    ["endpoint-file", "its scheme is file"],
    ["endpoint-shell", "contains unusual characters"],
    ["endpoint-metadata-service", "metadata service"],
  ] as [Quirk, string][])("refuses an authorization server with the quirk %s", async (quirk, words) => {
    const world = await createOAuthWorld([quirk]);
    await expect(find(world)).rejects.toMatchObject({
      code: "AUTHORIZATION_SERVER_INVALID",
      message: expect.stringContaining(words),
    });
  });

  test.each(["endpoint-http", "device-http"] as const)(
    "[TS-SEC-3] an authorization server with an endpoint that is not https is rejected (%s)",
    async (quirk) => {
      await expect(find(await createOAuthWorld([quirk]))).rejects.toMatchObject({
        code: "AUTHORIZATION_SERVER_INVALID",
        message: expect.stringContaining("http instead of https"),
      });
    },
  );

  test("an authorization server that fails or does not respond is not treated as absent", async () => {
    const world = await createOAuthWorld(["metadata-failing"]);
    await expect(find(world)).rejects.toMatchObject({ code: "SERVER_FAILED" });
    world.authorization.quirks.delete("metadata-failing");
    world.authorization.quirks.add("metadata-silent");
    await expect(find(world, {}, { limits: { requestMs: 700 } })).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
  });

  test("the first usable authorization server of several is used", async () => {
    const world = await createOAuthWorld();
    const dead = await startHostileAuthorizationServer({ quirks: ["metadata-of-another"] });
    onTestFinished(() => dead.close());
    world.tool.authorizationServers = [
      "javascript:alert(1)",
      "http://127.0.0.1:1",
      dead.issuer,
      world.authorization.issuer,
    ];
    expect((await find(world)).server.issuer).toBe(world.authorization.issuer);
  });

  test("a known authorization server is used if it is still named, even if it is last", async () => {
    const world = await createOAuthWorld();
    const other = await startHostileAuthorizationServer();
    onTestFinished(() => other.close());
    world.tool.authorizationServers = [other.issuer, world.authorization.issuer];
    const found = await find(world, { knownIssuer: world.authorization.issuer });
    expect(found).toMatchObject({ server: { issuer: world.authorization.issuer }, changedFrom: undefined });
    world.authorization.quirks.add("metadata-failing");
    await expect(find(world, { knownIssuer: world.authorization.issuer })).rejects.toMatchObject({
      code: "SERVER_FAILED",
    });
    expect(other.requests).toEqual([]);
  });

  test("a known authorization server that is no longer named is reported", async () => {
    const world = await createOAuthWorld();
    expect((await find(world, { knownIssuer: "https://before.example" })).changedFrom).toBe("https://before.example");
  });

  test("the configured authorization server is used regardless of what the tool server names", async () => {
    const world = await createOAuthWorld();
    world.tool.authorizationServers = ["https://evil.example"];
    const { issuer } = world.authorization;
    expect((await find(world, {}, { issuer })).server.issuer).toBe(issuer);
  });

  test("the metadata of an issuer with a path is found under that path", async () => {
    const world = await createOAuthWorld();
    const tenant = await startHostileAuthorizationServer({ path: "/tenant1", quirks: ["metadata-openid-only"] });
    onTestFinished(() => tenant.close());
    world.tool.authorizationServers = [tenant.issuer];
    expect((await find(world)).server.issuer).toBe(`${tenant.origin}/tenant1`);
    expect(pathsOf(tenant)).toEqual([
      "/.well-known/oauth-authorization-server/tenant1",
      "/.well-known/openid-configuration/tenant1",
    ]);
  });
});

describe("the documents that a discovery tried", () => {
  test("a discovery returns every document that it tried, with what was found", async () => {
    const world = await createOAuthWorld(["resource-metadata-at-root", "metadata-openid-only"]);
    const { issuer } = world.authorization;
    const { attempts } = await find(world);
    expect(attempts).toMatchObject([
      { url: `${world.tool.origin}/.well-known/oauth-protected-resource/mcp`, outcome: "absent", reason: "status 404" },
      { url: `${world.tool.origin}/.well-known/oauth-protected-resource`, outcome: "found" },
      { issuer, url: `${issuer}/.well-known/oauth-authorization-server`, outcome: "absent" },
      { issuer, url: `${issuer}/.well-known/openid-configuration`, outcome: "found", published: { pkce: ["S256"] } },
    ]);
  });

  test("a discovery that fails returns every document that it tried", async () => {
    const world = await createOAuthWorld(["metadata-failing"]);
    const { failure, attempts, resource, server } = await discover(world.session().context, { challenge: {} });
    expect([resource, server]).toEqual([world.tool.url, undefined]);
    expect(failure).toMatchObject({ code: "SERVER_FAILED" });
    expect(attempts.map(({ outcome }) => outcome)).toEqual(["found", "failed", "failed"]);
    expect(attempts[1]).toMatchObject({ error: failure, reason: failure?.message });
  });
});

describe("the limits of a discovery", () => {
  test("a discovery has a time limit as a whole", async () => {
    const world = await createOAuthWorld(["metadata-silent"]);
    const before = Date.now();
    await expect(find(world, {}, { limits: { requestMs: 60_000, discoveryMs: 150 } })).rejects.toMatchObject({
      code: "AUTHORIZATION_SERVER_INVALID",
      message: expect.stringContaining("within 0.15 s"),
    });
    expect(Date.now() - before).toBeLessThan(30_000);
  });

  test("a discovery sends a limited number of requests", async () => {
    const world = await createOAuthWorld(["metadata-absent"]);
    world.tool.authorizationServers = Array.from(
      { length: 50 },
      (_, index) => `${world.authorization.origin}/t${index}`,
    );
    await expect(find(world)).rejects.toMatchObject({ code: "AUTHORIZATION_SERVER_INVALID" });
    expect(world.authorization.requests.length + world.tool.requests.length).toBeLessThanOrEqual(16);
    await expect(find(world, {}, { limits: { discoveryRequests: 2 } })).rejects.toMatchObject({
      message: expect.stringContaining("within 2 requests"),
    });
  });

  test("a caller that gives up a discovery gets its reason", async () => {
    const world = await createOAuthWorld(["metadata-silent"]);
    const reason = new Error("enough");
    const controller = new AbortController();
    const found = find(world, { signal: controller.signal });
    controller.abort(reason);
    await expect(found).rejects.toBe(reason);
  });
});

describe("a tool server without metadata", () => {
  test("a tool server without resource metadata is its own authorization server if it publishes that metadata", async () => {
    const world = await createOAuthWorld();
    // One server that is both: the tool server's url is on the authorization server's origin.
    const { context } = world.session({ url: `${world.authorization.origin}/mcp` });
    const found = await discover(context, { challenge: {} });
    expect(found).toMatchObject({
      resource: `${world.authorization.origin}/mcp`,
      server: { issuer: world.authorization.origin },
    });
  });

  test("a tool server that publishes nothing has the default endpoints of the oldest revision", async () => {
    const world = await createOAuthWorld(["resource-without-metadata"]);
    const { server } = await find(world);
    expect(String(server.authorizationEndpoint)).toBe(`${world.tool.origin}/authorize`);
    expect(String(server.tokenEndpoint)).toBe(`${world.tool.origin}/token`);
    expect(String(server.registrationEndpoint)).toBe(`${world.tool.origin}/register`);
    expect(server.offersPkce).toBe(true);
    expect((await discoverIssuer(world.session().context, server.issuer)).tokenEndpoint).toEqual(server.tokenEndpoint);
  });

  test("sign-in and renewal work at the default endpoints, with PKCE and the resource", async () => {
    const world = await createOAuthWorld(["metadata-absent"]);
    const clock = createFakeClock(Date.now());
    const limits = { requestMs: 1e9, discoveryMs: 1e9 };
    const url = `${world.authorization.origin}/mcp`;
    await world.session({ url, clock, limits }).signIn(world.person);
    clock.advance(3_600_000);
    expect(await currentToken(world.session({ url, clock, limits }))).toBeDefined();
    const requests = world.authorization.requests.filter(({ path }) => path === "/authorize" || path === "/token");
    expect(requests.map(({ query, form }) => query.get("resource") ?? form.get("resource"))).toEqual([url, url, url]);
    expect(requests[0]?.query.get("code_challenge_method")).toBe("S256");
  });

  test("a failing tool server is not treated as one that publishes nothing", async () => {
    const world = await createOAuthWorld(["metadata-failing"]);
    const { context } = world.session({ url: `${world.authorization.origin}/mcp` });
    expect((await discover(context, { challenge: {} })).failure).toMatchObject({ code: "SERVER_FAILED" });
  });

  test.each([
    ["https://h/mcp", "https://h/mcp"],
    ["https://h/mcp/", "https://h/mcp/"],
    ["https://h/", "https://h"],
    ["https://h/?a=1", "https://h/?a=1"],
  ])("%s is the resource %s", (url, resource) => {
    expect(resourceOf(new URL(url))).toBe(resource);
  });
});

test("metadata of another resource is not used, and no authorization server is guessed", async () => {
  const world = await createOAuthWorld(["resource-of-another"]);
  await expect(find(world)).rejects.toMatchObject({
    code: "AUTHORIZATION_SERVER_INVALID",
    message: expect.stringContaining("https://evil.example/mcp"),
  });
  expect(world.authorization.requests).toEqual([]);
});

test.each([
  "https://victim.example@h/mcp",
  "https://victim.example:443@h/mcp",
  "https://h\\mcp",
  "https:\\\\h/mcp",
  "https://h/\tmcp",
  "https://h/mcp\n",
  " https://h/mcp",
])("a resource that others may read as another host is not that of the server: %j", (resource) => {
  const server = new URL("https://h/mcp");
  expect(parseResourceMetadata({ resource }, server)).toBe(
    `it describes another resource, ${JSON.stringify(resource)}`,
  );
});

test("the scopes in the metadata of a tool server are limited in number, and invalid ones are skipped", async () => {
  const world = await createOAuthWorld();
  const many = Array.from({ length: 100 }, (_, index) => `notes:${index}`);
  world.tool.scopesSupported = ["notes:read", "\u001b[2J", "a\nb", "x".repeat(300), ...many, "admin:all"];
  const { resourceScopes } = await find(world);
  expect(resourceScopes).toEqual(["notes:read", ...many.slice(0, 63)]);
});
