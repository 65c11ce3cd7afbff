import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createOAuthWorld } from "../oauth-world.test.helper.js";
import { discover } from "./discover.js";

test("a sign-in before any refused request finds out the metadata url and the scopes that the server asks for", async () => {
  const world = await createOAuthWorld(["resource-metadata-elsewhere"]);
  world.tool.challengedScope = "notes:write";
  await world.session().signIn(world.person);
  expect(world.signInRequests[0]?.scopes).toEqual(["notes:write", "offline_access"]);
  // The probe had no token.
  expect(world.tool.requests[0]).toMatchObject({ path: "/mcp", json: { method: "ping" } });
  expect(world.tool.requests[0]?.headers.authorization).toBeUndefined();
});

test("each resource_metadata is tried in order over several separate WWW-Authenticate headers", async () => {
  const world = await createOAuthWorld();
  const paths: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url);
    if (request.url === "/mcp") {
      response.writeHead(401, [
        ["WWW-Authenticate", 'Negotiate, Basic realm="of, the proxy"'],
        ["WWW-Authenticate", `Bearer resource_metadata="${origin}/gone"`],
        ["www-authenticate", `Bearer scope="notes:write", resource_metadata="${origin}/about"`],
      ] as unknown as string[]);
      return response.end();
    }
    if (request.url !== "/about") return response.writeHead(404).end();
    return response.end(JSON.stringify({ resource: url, authorization_servers: [world.authorization.issuer] }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = `${origin}/mcp`;
  expect((await world.session({ url }).signIn(world.person)).record.resource).toBe(url);
  expect(paths).toEqual(["/mcp", "/gone", "/about"]);
  expect(world.signInRequests[0]?.scopes).toContain("notes:write");
});

test("scopes of the last sign-in are requested again, even in another process, together with additional ones", async () => {
  const world = await createOAuthWorld();
  await world.session().signIn(world.person, { scopes: ["notes:write"] });
  await world.session().signIn(world.person, { scopes: ["admin"] });
  expect(world.signInRequests.map(({ scopes, newScopes }) => ({ scopes, newScopes }))).toEqual([
    {
      scopes: ["notes:read", "offline_access", "notes:write"],
      newScopes: ["notes:read", "offline_access", "notes:write"],
    },
    { scopes: ["notes:read", "offline_access", "notes:write", "admin"], newScopes: ["admin"] },
  ]);
});

test("a server of the legacy SSE transport is probed with GET", async () => {
  const world = await createOAuthWorld();
  const server = createServer((request, response) => {
    const isStream = request.method === "GET";
    response.writeHead(isStream ? 401 : 405, isStream ? { "www-authenticate": 'Bearer scope="a b"' } : {}).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/sse`;
  expect(await discover(world.session({ url }).context)).toMatchObject({ challenge: { scopes: ["a", "b"] } });
});

test("a server that does not respond gives an empty challenge; a caller that gives up gets its reason", async () => {
  const world = await createOAuthWorld();
  const { context } = world.session();
  await world.tool.close();
  const challenge = { isOAuth: false, resourceMetadata: [], scopes: [], error: undefined, requiresProof: false };
  expect((await discover(context)).challenge).toEqual(challenge);
  await expect(discover(context, { signal: AbortSignal.abort("enough") })).rejects.toBe("enough");
});

test("a server that requires no sign-in and names no authorization server is not signed in to", async () => {
  const world = await createOAuthWorld();
  const paths: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url);
    response.writeHead(request.url === "/mcp" ? 200 : 404).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  await expect(world.session({ url }).signIn(world.person)).rejects.toMatchObject({
    code: "SIGN_IN_FAILED",
    message: expect.stringContaining("names no authorization server. Use it without signing in."),
  });
  expect(paths).not.toContain("/register");
  expect(world.signInRequests).toEqual([]);
});

test("a server that requires no sign-in but names an authorization server is signed in to", async () => {
  const world = await createOAuthWorld();
  const server = createServer((request, response) => {
    const isMetadata = request.url === "/.well-known/oauth-protected-resource/mcp";
    if (!isMetadata && request.url !== "/mcp") return response.writeHead(404).end();
    return response.end(
      JSON.stringify(isMetadata ? { resource: url, authorization_servers: [world.authorization.issuer] } : {}),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  expect((await world.session({ url }).signIn(world.person)).record.resource).toBe(url);
});
