import { describe, expect, test } from "vitest";
import { type DiscoveryRequest, discover } from "../../auth/oauth/discovery/discover.js";
import type { AuthorizationServer } from "../../auth/oauth/discovery/metadata.js";
import { contextOf } from "../../auth/oauth/login/login-options.js";
import { createTestHttpClient } from "../../auth/oauth/oauth-world.test.helper.js";
import { createMemoryVault } from "../../auth/vault/memory-vault.js";
import { systemClock } from "../../clock.js";
import { ToolServerError } from "../../errors.js";
import { startHostileServer } from "../../http/hostile-http-server.test.helper.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { authorizationEvidence, resourceEvidence } from "./discovery-evidence.js";

const resourcePath = "/.well-known/oauth-protected-resource";
const serverPath = "/.well-known/oauth-authorization-server";

/** What a url returns: JSON, or a status. A url that is not listed returns 404. */
type Routes = Readonly<Record<string, object | number>>;

interface Checked {
  readonly resource: ReturnType<typeof resourceEvidence>;
  readonly authorization: ReturnType<typeof authorizationEvidence>;
  readonly server: AuthorizationServer | undefined;
  readonly origin: string;
  readonly requested: readonly string[];
  /** The timers that are still set. */
  readonly timers: number;
}

/** Discovers the authorization server of a server that may be its own. */
async function check(
  routesOf: (origin: string) => Routes,
  optionsOf: (origin: string) => DiscoveryRequest & { readonly issuer?: string } = () => ({}),
): Promise<Checked> {
  const server = await startHostileServer(({ url }, response) => {
    const routes = routesOf(server.url.origin);
    const found = Object.hasOwn(routes, url) ? routes[url] : 404;
    if (typeof found === "number") response.writeHead(found).end();
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(found));
  });
  const secrets = createSecretRegistry();
  secrets.add("a-secret-of-mine");
  const http = createTestHttpClient(secrets);
  let timers = 0;
  const clock = {
    now: systemClock.now,
    after(delayMs: number, wake: () => void) {
      timers += 1;
      const cancel = systemClock.after(delayMs, wake);
      return () => {
        timers -= 1;
        cancel();
      };
    },
  };
  const own = { server: "api", url: server.url.href, profile: "", vault: createMemoryVault() };
  const { issuer, ...request } = optionsOf(server.url.origin);
  const context = contextOf({ ...own, issuer, http, secrets, clock, allowInsecureLoopback: true });
  try {
    const discovery = await discover(context, { challenge: {}, ...request });
    return {
      resource: resourceEvidence(context, discovery),
      authorization: authorizationEvidence(context, discovery),
      server: discovery.server,
      origin: server.url.origin,
      requested: server.requests.map(({ url }) => url),
      timers,
    };
  } finally {
    await http.close();
  }
}

const resourceWith =
  (...issuers: readonly string[]) =>
  (origin: string): Routes => ({
    [`${resourcePath}/mcp`]: {
      resource: `${origin}/mcp`,
      authorization_servers: issuers.map((path) => `${origin}${path}`),
    },
  });
const metadataOf = (issuer: string, more: object = {}) => ({ issuer, token_endpoint: `${issuer}/token`, ...more });

describe("resource metadata", () => {
  test("reports the published resource, issuers and scopes, without secrets and control characters", async () => {
    const { resource, origin } = await check((origin) => ({
      [resourcePath]: {
        resource: `${origin}/`,
        authorization_servers: ["https://as.example"],
        scopes_supported: ["notes:read", "a-secret-of-mine", "\u001b[31m"],
      },
    }));
    expect(resource).toEqual({
      outcome: "found",
      resource: `${origin}/`,
      scopes: ["notes:read", "[redacted]"],
      evidence: [`${origin}${resourcePath}/mcp: status 404`, `${origin}${resourcePath}: found`],
    });
  });

  test("requests the url of the challenge first", async () => {
    const { resource, requested } = await check(
      (origin) => ({ "/challenged": { resource: `${origin}/mcp` } }),
      (origin) => ({ challenge: { resourceMetadata: [`${origin}/challenged`] } }),
    );
    expect(requested[0]).toBe("/challenged");
    expect(resource).toMatchObject({ outcome: "found", scopes: undefined });
  });

  test.each<[string, Routes, string]>([
    ["absent", {}, "absent"],
    ["absent if it names no resource", { [`${resourcePath}/mcp`]: {} }, "absent"],
    ["failed if a url fails and the other has none", { [`${resourcePath}/mcp`]: 503 }, "failed"],
    ["foreign if it is of another server", { [resourcePath]: { resource: "https://other.example/" } }, "foreign"],
    [
      "foreign even if another url fails",
      { [`${resourcePath}/mcp`]: { resource: "https://other.example/" }, [resourcePath]: 503 },
      "foreign",
    ],
  ])("reports resource metadata as %s", async (_, routes, outcome) => {
    const { resource, authorization } = await check(() => routes);
    expect(resource).toMatchObject({ outcome, resource: undefined });
    expect(authorization === undefined).toBe(outcome === "foreign");
  });
});

describe("the metadata of an authorization server", () => {
  test("reports what a sign-in uses of it, and which endpoints must not be used", async () => {
    const { authorization, server, origin, timers } = await check((origin) => ({
      [serverPath]: metadataOf(origin, {
        authorization_endpoint: `${origin}/authorize`,
        registration_endpoint: null,
        userinfo_endpoint: "file:///etc/passwd",
        jwks_uri: `${origin}/keys`,
        code_challenge_methods_supported: ["S256", "a-secret-of-mine", "x".repeat(50)],
        scopes_supported: ["read", "a-secret-of-mine"],
        client_id_metadata_document_supported: true,
        authorization_response_iss_parameter_supported: true,
      }),
    }));
    expect(server?.issuer).toBe(origin);
    expect(authorization).toEqual({
      outcome: "found",
      expectedIssuer: origin,
      publishedIssuer: origin,
      changedFrom: undefined,
      pkce: ["S256", "[redacted]", `${"x".repeat(39)}…`],
      scopes: ["read", "[redacted]"],
      takesMetadataDocuments: true,
      sendsIssuer: true,
      endpoints: [
        { name: "token_endpoint", url: `${origin}/token`, defect: undefined },
        { name: "authorization_endpoint", url: `${origin}/authorize`, defect: undefined },
      ],
      evidence: [`${origin}${serverPath}: found`],
    });
    expect(timers).toBe(0);
  });

  test("reports an endpoint that must not be used, with the reason", async () => {
    const { authorization, server, origin } = await check((origin) => ({
      [serverPath]: metadataOf(origin, { revocation_endpoint: "file:///a-secret-of-mine" }),
    }));
    expect(server).toBeUndefined();
    expect(authorization).toMatchObject({
      outcome: "invalid",
      pkce: undefined,
      scopes: undefined,
      takesMetadataDocuments: false,
      sendsIssuer: false,
      endpoints: [
        { name: "token_endpoint", defect: undefined },
        {
          name: "revocation_endpoint",
          url: "file:///[redacted]",
          defect: "its scheme is file instead of https",
        },
      ],
    });
    expect(authorization?.evidence[0]).toMatch(`${origin}${serverPath}: its revocation_endpoint is invalid`);
  });

  test("accepts an origin with a slash as the issuer, whether or not an issuer is published", async () => {
    const slash = (origin: string): Routes => ({ [serverPath]: { ...metadataOf(origin), issuer: `${origin}/` } });
    expect((await check(slash)).authorization?.outcome).toBe("found");
    const named = await check((origin) => ({ ...slash(origin), ...resourceWith("")(origin) }));
    expect(named.authorization).toMatchObject({
      outcome: "found",
      expectedIssuer: named.origin,
      publishedIssuer: `${named.origin}/`,
    });
  });

  test("continues with the next published issuer, and reports the first if none can be used", async () => {
    const both = resourceWith("/one", "/two");
    const second = await check((origin) => ({
      ...both(origin),
      [`${serverPath}/two`]: metadataOf(`${origin}/two`),
    }));
    expect(second.server?.issuer).toBe(`${second.origin}/two`);
    expect(second.authorization).toMatchObject({ outcome: "found", expectedIssuer: `${second.origin}/two` });
    const none = await check((origin) => ({ ...both(origin), [`${serverPath}/two`]: 503 }));
    expect(none.server).toBeUndefined();
    expect(none.authorization).toMatchObject({ outcome: "absent", expectedIssuer: `${none.origin}/one` });
  });

  test("requests the metadata of at most four issuers", async () => {
    const { requested } = await check(resourceWith("/1", "/2", "/3", "/4", "/5"));
    expect(requested).toContain(`${serverPath}/4`);
    expect(requested).not.toContain(`${serverPath}/5`);
  });

  test("reports an issuer that must not be used, and requests nothing of it", async () => {
    const { authorization, server, requested } = await check((origin) => ({
      [resourcePath]: { resource: origin, authorization_servers: ["http://a-secret-of-mine.example"] },
    }));
    expect(server).toBeUndefined();
    const defect = "its scheme is http instead of https";
    expect(authorization).toMatchObject({
      outcome: "invalid",
      endpoints: [{ name: "issuer", url: "http://[redacted].example", defect }],
      evidence: [`http://[redacted].example: ${defect}`],
    });
    expect(requested).toEqual([`${resourcePath}/mcp`, resourcePath]);
  });

  test("reports invalid metadata rather than a later failure, and a failure rather than absence", async () => {
    const openId = "/.well-known/openid-configuration";
    const invalid = await check(() => ({ [serverPath]: { issuer: "https://other.example" }, [openId]: 503 }));
    expect(invalid.authorization).toMatchObject({ outcome: "invalid", publishedIssuer: "https://other.example" });
    const failed = await check(() => ({ [serverPath]: 503 }));
    expect(failed.authorization).toMatchObject({
      outcome: "failed",
      publishedIssuer: undefined,
      endpoints: [],
      takesMetadataDocuments: false,
      sendsIssuer: false,
    });
    expect(failed.authorization?.evidence).toEqual([
      expect.stringContaining("failed with status 503"),
      `${failed.origin}${openId}: status 404`,
    ]);
    expect(failed.server).toBeUndefined();
  });

  test("continues with OpenID Connect after metadata that is invalid", async () => {
    const { authorization } = await check((origin) => ({
      [serverPath]: { issuer: 7 },
      "/.well-known/openid-configuration": metadataOf(origin),
    }));
    expect(authorization?.outcome).toBe("found");
    expect(authorization?.evidence).toHaveLength(2);
  });
});

describe("the issuer of a sign-in", () => {
  test("prefers the issuer of the last sign-in, as long as it is published", async () => {
    const routes = resourceWith("/one", "/two");
    const kept = await check(routes, (origin) => ({ knownIssuer: `${origin}/two` }));
    expect(kept.authorization).toMatchObject({ expectedIssuer: `${kept.origin}/two`, changedFrom: undefined });
    expect(kept.requested).not.toContain(`${serverPath}/one`);
    const gone = await check(routes, () => ({ knownIssuer: "https://a-secret-of-mine.example" }));
    expect(gone.authorization).toMatchObject({
      expectedIssuer: `${gone.origin}/one`,
      changedFrom: "https://[redacted].example",
    });
  });

  test("considers the origin of the server known, with and without a slash, if the server names no issuer", async () => {
    const known = (origin: string) => ({ knownIssuer: `${origin}/` });
    const { authorization, origin } = await check(() => ({}), known);
    expect(authorization).toMatchObject({ expectedIssuer: `${origin}/`, changedFrom: undefined });
    const other = await check(resourceWith("/one"), known);
    expect(other.authorization).toMatchObject({
      expectedIssuer: `${other.origin}/one`,
      changedFrom: `${other.origin}/`,
    });
  });

  test("uses the issuer of the configuration only", async () => {
    const { authorization, origin, requested } = await check(resourceWith("/one"), (origin) => ({
      knownIssuer: `${origin}/one`,
      issuer: `${origin}/pinned`,
    }));
    expect(authorization).toMatchObject({ expectedIssuer: `${origin}/pinned`, changedFrom: `${origin}/one` });
    expect(requested).not.toContain(`${serverPath}/one`);
  });

  test("assumes the default endpoints only if the server publishes nothing and no other issuer is configured", async () => {
    const nothing = await check(() => ({}));
    expect(nothing.authorization).toMatchObject({ outcome: "default", expectedIssuer: nothing.origin });
    expect(nothing.server).toMatchObject({ issuer: nothing.origin, isAssumed: true });
    expect(new Set(nothing.requested).size).toBe(nothing.requested.length);
    const others = [
      await check(
        () => ({}),
        (origin) => ({ issuer: `${origin}/pinned` }),
      ),
      await check(() => ({ [resourcePath]: 503 })),
      await check(resourceWith("")),
    ];
    for (const { authorization, server } of others) {
      expect(authorization?.outcome).toBe("absent");
      expect(server).toBeUndefined();
    }
  });
});

describe("the end of a walk", () => {
  const endWith = (reason: Error) =>
    check(
      () => ({}),
      () => ({ signal: AbortSignal.abort(reason) }),
    );

  test("reports metadata as failed if the walk times out", async () => {
    const timeout = new ToolServerError("CALL_TIMEOUT", { problem: "The diagnosis took too long.", advice: "" });
    const { resource, authorization, server, requested, timers } = await endWith(timeout);
    expect(resource).toMatchObject({
      outcome: "failed",
      evidence: [expect.stringContaining("took too long"), expect.anything()],
    });
    expect(authorization?.outcome).toBe("failed");
    expect([server, requested, timers]).toEqual([undefined, [], 0]);
  });

  test("rejects for a reason that is not about the server", async () => {
    await expect(endWith(new TypeError("A defect."))).rejects.toThrow("A defect.");
  });
});
