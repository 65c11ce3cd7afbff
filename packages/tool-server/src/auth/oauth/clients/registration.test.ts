import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { startBareIssuer } from "../bare-issuer.test.helper.js";
import { createOAuthWorld } from "../oauth-world.test.helper.js";
import type { Ask } from "../sign-in/ask.js";
import { chooseAuthentication, readClientKey } from "./oauth-client.js";

test("a registration request names a native client, its grants and its redirect", async () => {
  const world = await createOAuthWorld();
  await world.session().signIn(world.person);
  const { way } = world.signInRequests[0] ?? {};
  expect(world.authorization.requests.find(({ path }) => path === "/register")?.json).toEqual({
    client_name: "Wirescope",
    redirect_uris: [way?.kind === "browser" ? way.redirectUri : ""],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
    application_type: "native",
  });
});

test("a client with a secret authenticates as registered, even after a restart", async () => {
  const world = await createOAuthWorld(["registration-secret"]);
  await world.session().signIn(world.person);
  await world.session().signIn(world.person);
  const shown = world.authorization.requests
    .filter(({ path }) => path === "/token")
    .map(({ headers, form }) => [headers.authorization, form.get("client_id")]);
  expect(shown).toHaveLength(2);
  for (const [authorization, id] of shown) {
    expect(authorization).toMatch(/^Basic /);
    expect(id).toBeNull();
  }
});

test.each([
  ["registration-absent", "does not support dynamic client registration"],
  ["registration-refused", "invalid_client_metadata: Not you."],
] as const)("advises what to do if no client can register (%s)", async (quirk, words) => {
  const world = await createOAuthWorld([quirk]);
  await expect(world.session().signIn(world.person)).rejects.toMatchObject({
    code: "REGISTRATION_REFUSED",
    message: expect.stringMatching(new RegExp(`${words}.*set clientId in the oauth settings of the server`)),
  });
  expect(world.signInRequests).toEqual([]);
});

test("a client id that is too long for a URL is refused, and the next sign-in registers again", async () => {
  const world = await createOAuthWorld();
  let clientId = "x".repeat(10_000);
  const issuer = await startBareIssuer(({ path }, self) => {
    if (path === "/register") return [201, { client_id: clientId }];
    if (!path.startsWith("/.well-known/")) return [400, { error: "access_denied" }];
    const endpoints = ["authorization", "token"].map((name) => [`${name}_endpoint`, `${self}/${name}`]);
    const registration = { registration_endpoint: `${self}/register`, code_challenge_methods_supported: ["S256"] };
    return [200, { issuer: self, ...Object.fromEntries(endpoints), ...registration }];
  });
  world.tool.authorizationServers = [issuer];
  const declining: Ask = {
    async show(request) {
      world.signInRequests.push(request);
      throw new Error("Not now.");
    },
  };
  await expect(world.session().signIn(declining)).rejects.toMatchObject({ code: "REGISTRATION_REFUSED" });
  expect(world.signInRequests).toEqual([]);
  clientId = "short";
  await expect(world.session().signIn(declining)).rejects.toMatchObject({ code: "SIGN_IN_FAILED" });
  expect(world.signInRequests).toMatchObject([{ way: { url: expect.stringContaining("client_id=short") } }]);
});

const id = "c24c4da9-cc66-4c69-8f02-03c803ff1e4e";

test.each([
  [400, `{"error":"invalid_request","error_description":"Client ID '${id}' not found"}`, 2],
  [422, '{"message":"Unrecognized client_id"}', 2],
  [400, `<p>The client ID <code>${id}</code> was not found in the registry.</p>`, 2],
  [400, "<h1>Unknown application</h1>", 2],
  [400, '{"error":"invalid_request","error_description":"The client could not be found"}', 2],
  [400, '{"error":"invalid_request","error_description":"scope is missing"}', 1],
  [400, `{"client_id":"${id}","error":"invalid_scope"}`, 1],
  [429, "The client is unknown to the rate limiter.", 1],
])("a registration is replaced if the server no longer knows it: %i %s", async (status, page, registrations) => {
  const world = await createOAuthWorld();
  let registered = 0;
  const issuer = await startBareIssuer(({ path }, self) => {
    if (path === "/authorize") return [status, page];
    if (path === "/register") {
      registered += 1;
      return [201, { client_id: id }];
    }
    const endpoints = { authorization_endpoint: `${self}/authorize`, token_endpoint: `${self}/token` };
    const registration = { registration_endpoint: `${self}/register`, code_challenge_methods_supported: ["S256"] };
    return [200, { issuer: self, ...endpoints, ...registration }];
  });
  world.tool.authorizationServers = [issuer];
  const declining: Ask = { show: () => Promise.reject(new Error("Not now.")) };
  for (let signIn = 0; signIn < 2; signIn += 1) {
    await expect(world.session().signIn(declining)).rejects.toMatchObject({ code: "SIGN_IN_FAILED" });
  }
  expect(registered).toBe(registrations);
});

test("suggests a token or an API key if a server publishes no OAuth metadata and registers no client", async () => {
  const world = await createOAuthWorld(["metadata-absent", "registration-refused"]);
  const url = `${world.authorization.origin}/mcp`;
  await expect(world.session({ url }).signIn(world.person)).rejects.toMatchObject({
    code: "REGISTRATION_REFUSED",
    message: expect.stringMatching(/publishes no OAuth metadata.*probably requires a token or an API key/),
  });
});

test("a configured client is used instead of a registration, and keeps its port", async () => {
  const world = await createOAuthWorld();
  const reluctant: Ask = {
    async show(request) {
      world.signInRequests.push(request);
      throw new Error("That was enough.");
    },
  };
  for (let signIn = 0; signIn < 2; signIn += 1) {
    await expect(world.session({ client: { clientId: "by-hand" } }).signIn(reluctant)).rejects.toMatchObject({
      code: "SIGN_IN_FAILED",
      message: expect.stringContaining("That was enough."),
    });
  }
  const ways = world.signInRequests.map(({ way }) => new URL(way.url).searchParams);
  expect(ways.map((query) => query.get("client_id"))).toEqual(["by-hand", "by-hand"]);
  expect(new Set(ways.map((query) => query.get("redirect_uri"))).size).toBe(1);
  expect(world.authorization.count("/register")).toBe(0);
});

test("the url of a metadata document is the client id if the server supports it; otherwise a client is registered", async () => {
  const world = await createOAuthWorld();
  const clientMetadataUrl = "https://wirescope.example/client.json";
  await world.session({ clientMetadataUrl }).signIn(world.person);
  expect(world.authorization.count("/register")).toBe(1);
  world.authorization.quirks.add("takes-metadata-documents");
  await world.session({ clientMetadataUrl }).signIn(world.person);
  const clientIds = world.signInRequests.map(({ way }) => new URL(way.url).searchParams.get("client_id"));
  expect(clientIds[1]).toBe(clientMetadataUrl);
  expect(world.authorization.count("/register")).toBe(1);
  for (const bad of ["http://wirescope.example/client.json", "https://wirescope.example/", "client.json"]) {
    expect(() => world.session({ clientMetadataUrl: bad })).toThrow(TypeError);
  }
});

test("another configured redirect causes another registration", async () => {
  const world = await createOAuthWorld();
  await world.session().signIn(world.person);
  await world.session({ redirect: { host: "localhost" } }).signIn(world.person);
  await world.session({ redirect: { host: "localhost" } }).signIn(world.person);
  expect(world.authorization.count("/register")).toBe(2);
});

test.each([
  [{ clientSecret: undefined }, undefined, "none"],
  [{ clientSecret: "s" }, undefined, "client_secret_basic"],
  [{ clientSecret: "s" }, ["client_secret_post", "client_secret_basic"], "client_secret_basic"],
  [{ clientSecret: "s" }, ["client_secret_post"], "client_secret_post"],
] as const)("authenticates a client with %j at a server that supports %j by %s", (client, offered, method) => {
  expect(chooseAuthentication(client, offered)).toBe(method);
});

test("the algorithm is chosen by the key, and the error for an invalid key does not show it", () => {
  const pemOf = (type: "ec" | "rsa" | "ed25519" | "x25519"): string => {
    const made =
      type === "ec"
        ? generateKeyPairSync("ec", { namedCurve: "P-384" })
        : type === "rsa"
          ? generateKeyPairSync("rsa", { modulusLength: 2048 })
          : generateKeyPairSync(type as "ed25519");
    return made.privateKey.export({ format: "pem", type: "pkcs8" }).toString();
  };
  expect(readClientKey({ clientId: "c", privateKey: pemOf("ec") })?.algorithm).toBe("ES384");
  expect(readClientKey({ clientId: "c", privateKey: pemOf("rsa") })?.algorithm).toBe("RS256");
  expect(readClientKey({ clientId: "c", privateKey: pemOf("ed25519") })?.algorithm).toBe("EdDSA");
  expect(() => readClientKey({ clientId: "c", privateKey: pemOf("x25519") })).toThrow(TypeError);
  expect(() => readClientKey({ clientId: "c", privateKey: "-----BEGIN s3cret" })).toThrow(/^(?!.*s3cret)/s);
});
