import { createServer, type RequestListener } from "node:http";
import type { AddressInfo, LookupFunction } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../clock.js";
import { createHttpClient } from "../../../http/create-http-client.js";
import { createSecretRegistry } from "../../../secrets/redactor.js";
import { createMemoryVault } from "../../vault/memory-vault.js";
import { defaultOAuthLimits, type OAuthContext } from "../oauth-context.js";
import { createOAuthLog } from "../oauth-log.js";
import { testTransport } from "../oauth-world.test.helper.js";
import { createAddressGuard } from "./address-guard.js";
import { sendOAuthRequest } from "./oauth-request.js";

const names: Record<string, string> = {};
/** Resolves the host names of a test to the addresses of its servers. */
const lookup: LookupFunction = (host, options, callback) => {
  const address = names[host] ?? "127.0.0.1";
  if (typeof options === "object" && options.all)
    (callback as (error: null, found: object[]) => void)(null, [{ address, family: 4 }]);
  else callback(null, address, 4);
};

async function start(
  listener: RequestListener,
  address = "127.0.0.1",
): Promise<{ port: number; requests: () => number }> {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, requests: () => requests };
}

function contextOf(serverUrl: string, trusted: readonly string[] = []): OAuthContext {
  const secrets = createSecretRegistry();
  const http = createHttpClient({ server: "notes", transport: () => testTransport, secrets, lookup });
  onTestFinished(() => http.close());
  const url = new URL(serverUrl);
  return {
    server: "notes",
    url,
    http,
    addresses: createAddressGuard(
      url,
      http,
      trusted.map((text) => new URL(text)),
    ),
    secrets,
    clock: systemClock,
    limits: defaultOAuthLimits,
    allowInsecureLoopback: true,
    owner: "",
    profile: "test",
    tenant: "",
    settings: {},
    vault: createMemoryVault(),
    isIdentityProvider: false,
    log: createOAuthLog({ secrets, clock: systemClock }),
  };
}

const get = (url: string) => ({ method: "GET", url: new URL(url), headers: {}, requested: "metadata" }) as const;

test("[TS-D-OAUTH-4] a name that resolves to a forbidden address is rejected before anything is sent (CVE-2026-51994)", async () => {
  names["as.localhost"] = "127.0.0.1";
  const inside = await start((_, response) => response.end("{}"));
  // The tool server is at a public address, by its URL.
  const context = contextOf("https://93.184.216.34/mcp");
  await expect(sendOAuthRequest(context, get(`http://as.localhost:${inside.port}/`))).rejects.toMatchObject({
    code: "AUTHORIZATION_SERVER_INVALID",
    message: expect.stringContaining("this machine"),
  });
  expect(inside.requests()).toBe(0);
});

test("the address of a tool server with a name is taken from a connection to it", async () => {
  names["tool.test"] = "127.0.0.1";
  const inside = await start((_, response) => response.end("{}"));
  const context = contextOf(`http://tool.test:${inside.port}/mcp`);
  expect(await sendOAuthRequest(context, get(`http://127.0.0.1:${inside.port}/`))).toMatchObject({
    status: 200,
    json: {},
  });
});

test("a host that the user configured is allowed at any address", async () => {
  const inside = await start((_, response) => response.end("{}"));
  const issuer = `http://127.0.0.1:${inside.port}`;
  expect(await sendOAuthRequest(contextOf("https://93.184.216.34/mcp", [issuer]), get(issuer))).toMatchObject({
    status: 200,
  });
});

test.each([
  ["https://169.254.169.254/latest", "metadata service"],
  ["https://[fd00:ec2::254]/latest", "metadata service"],
  ["https://[::ffff:169.254.169.254]/latest", "metadata service"],
  ["https://0.0.0.0/", "reserved"],
  ["https://10.0.0.1/", "a private address"],
  ["https://user:pass@as.example/", "user name or password"],
  ["http://as.example/", "http instead of https"],
  ["ftp://as.example/", "ftp instead of https"],
])("nothing is sent to %s (CVE-2026-51995)", async (url, words) => {
  const request = sendOAuthRequest(contextOf("https://93.184.216.34/mcp"), get(url));
  await expect(request).rejects.toMatchObject({
    code: "AUTHORIZATION_SERVER_INVALID",
    message: expect.stringContaining(words),
  });
});

test("http to this machine has to be enabled", async () => {
  const context = { ...contextOf("http://127.0.0.1:1/mcp"), allowInsecureLoopback: false };
  await expect(sendOAuthRequest(context, get("http://127.0.0.1:1/"))).rejects.toMatchObject({
    code: "AUTHORIZATION_SERVER_INVALID",
    message: expect.stringContaining("is not enabled for loopback hosts"),
  });
});

test("a response that does not arrive, or does not end, times out", async () => {
  const silent = await start(() => undefined);
  const endless = await start((_, response) => response.write("{"));
  for (const { port } of [silent, endless]) {
    const context = { ...contextOf(`http://127.0.0.1:${port}/mcp`), limits: { ...defaultOAuthLimits, requestMs: 100 } };
    await expect(sendOAuthRequest(context, get(`http://127.0.0.1:${port}/`))).rejects.toMatchObject({
      code: "SERVER_UNREACHABLE",
    });
  }
});

test("a response that is too large is not read", async () => {
  const { port } = await start((_, response) => response.end("x".repeat(2000)));
  const context = {
    ...contextOf(`http://127.0.0.1:${port}/mcp`),
    limits: { ...defaultOAuthLimits, responseBytes: 1000 },
  };
  await expect(sendOAuthRequest(context, get(`http://127.0.0.1:${port}/`))).rejects.toMatchObject({
    code: "AUTHORIZATION_SERVER_INVALID",
    message: expect.stringContaining("exceeds 1000 bytes"),
  });
});

test("a redirect is not followed (CVE-2026-111769); a caller that gives up gets its reason", async () => {
  const elsewhere = await start((_, response) => response.end("{}"));
  const { port } = await start((_, response) =>
    response.writeHead(307, { location: `http://127.0.0.1:${elsewhere.port}/` }).end(),
  );
  const context = contextOf(`http://127.0.0.1:${port}/mcp`);
  expect(
    await sendOAuthRequest(context, { ...get(`http://127.0.0.1:${port}/`), method: "POST", body: "token=secret" }),
  ).toMatchObject({ status: 307 });
  expect(elsewhere.requests()).toBe(0);
  const reason = new Error("enough");
  await expect(sendOAuthRequest(context, get(`http://127.0.0.1:${port}/`), AbortSignal.abort(reason))).rejects.toBe(
    reason,
  );
});
