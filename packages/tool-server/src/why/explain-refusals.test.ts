import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocketServer } from "ws";
import { createMemoryVault } from "../auth/vault/memory-vault.js";
import { causeTable } from "../causes/cause-table.js";
import { parseConfiguration } from "../config/parse-configuration.js";
import { createToolServers } from "../connection/servers/tool-servers.js";
import type { McpHandler } from "../connection/transports/streamable-http.test.helper.js";
import { failureOf } from "../failure-of.test.helper.js";
import { createScriptFolder } from "../process/temporary-scripts.test.helper.js";
import { createSecretRegistry } from "../secrets/redactor.js";
import { codesOf, explainEntry, firstOf, outcomesOf, startToolServer } from "./explain.test.helper.js";
import type { Explanation } from "./explanation.js";

const hourMs = 3_600_000;

/** A JSON Web Token with these claims; times are hours from now. */
function tokenOf(claims: { exp?: number; nbf?: number; iat?: number } & Record<string, unknown>): string {
  const times = ["exp", "nbf", "iat"].flatMap((name) => {
    const hours = claims[name];
    return typeof hours === "number" ? [[name, Math.floor((Date.now() + hours * hourMs) / 1000)]] : [];
  });
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "HS256" })}.${part({ ...claims, ...Object.fromEntries(times) })}.c2lnbmF0dXJl`;
}

interface Refusing {
  readonly status?: number;
  readonly challenge?: string;
  readonly body?: string;
  /** How many hours its clock is ahead. */
  readonly aheadHours?: number;
}

/** Explains a server that refuses every request like this, with an entry that has these headers. */
async function explainRefusal(
  { status = 401, challenge, body = "", aheadHours = 0 }: Refusing,
  variables: Record<string, string>,
  headers: Record<string, string> = { Authorization: "Bearer ${API_TOKEN}" },
): Promise<Explanation> {
  const refuse: McpHandler = (_, response) => {
    if (challenge !== undefined) response.setHeader("www-authenticate", challenge);
    response.setHeader("date", new Date(Date.now() + aheadHours * hourMs).toUTCString());
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  };
  const server = await startToolServer(refuse);
  const explained = await explainEntry({ type: "http", url: server.url.href, headers }, { variables });
  expect(outcomesOf(explained)).toMatchObject({ http: "ok", credential: "failed", protocol: "skipped" });
  for (const secret of Object.values(variables)) {
    if (secret.length > 12) expect(JSON.stringify(explained)).not.toContain(secret);
  }
  return explained;
}

const plain = { API_TOKEN: "a-token-of-mine" };
const setToken = { command: "export API_TOKEN=…" };

describe("401", () => {
  test("[TS-ERR-2] points to the variable of an opaque token after a 401", async () => {
    const explained = await explainRefusal({}, plain);
    expect(firstOf(explained)).toMatchObject({ code: "token-refused", fix: setToken });
    expect(firstOf(explained).problem).toContain("may be wrong, revoked, or for another environment.");
  });

  test("[TS-ERR-2] [TS-D-WHY-3] says what to write if a request without a credential gets a 401", async () => {
    const explained = await explainRefusal({ challenge: "Bearer" }, {}, { "X-Region": "eu" });
    expect(firstOf(explained)).toMatchObject({
      code: "credential-missing",
      fix: { position: { line: 3 }, write: '"headers": {"Authorization": "Bearer ${API_TOKEN}"}' },
    });
  });

  test("[TS-ERR-2] points to the header that the entry names for an API key, and not to Authorization", async () => {
    const server = await startToolServer((_, response) => response.writeHead(401).end());
    const url = server.url.href;
    const entry = { type: "http", url, headers: { "X-Notes": "${NOTES}", "X-Tenant-Id": "${TENANT}" } };
    const variables = { NOTES: "a-key-of-mine", TENANT: "acme" };
    const oauth = { profile: "test", openVault: async () => createMemoryVault() };
    const explained = await explainEntry(entry, { variables, oauth });
    expect(firstOf(explained)).toMatchObject({ code: "token-refused", fix: { command: "export NOTES=…" } });
    expect(JSON.stringify(explained)).not.toContain("Authorization");

    const secrets = createSecretRegistry();
    const servers = createToolServers({
      configuration: parseConfiguration(JSON.stringify({ api: entry }), { secrets }),
      variables,
      pluginRoot: "/",
      secrets,
      assertTrusted: async () => {},
      oauth: { vault: createMemoryVault() },
      settings: { info: { name: "test", version: "0" } },
    });
    onTestFinished(() => servers.close());
    const { advice, message } = await failureOf((await servers.open("api")).listTools());
    expect(advice).toContain("check the value of X-Notes.");
    expect(message).not.toContain("Authorization");
  });

  test("[TS-ERR-2] points to the header of an API key first, although the challenge asks for Authorization", async () => {
    const headers = { "X-API-Key": "${API_KEY}" };
    const explained = await explainRefusal({ challenge: "Bearer" }, { API_KEY: "a-key-of-mine" }, headers);
    expect(codesOf(explained)).toEqual(["token-refused", "wrong-header"]);
    expect(firstOf(explained)).toMatchObject({ fix: { command: "export API_KEY=…" } });
  });

  test.each<Refusing>([
    { challenge: 'ApiKey realm="notes", header="X-API-Key"' },
    { challenge: "Bearer", body: '{"error": "Missing X-API-Key header"}' },
    { status: 403, body: '{"message": "Send your key in the x-api-key header."}' },
  ])("[TS-ERR-2] [TS-ERR-3] advises to send the header that the server names for a key: %j", async (refusing) => {
    const none = firstOf(await explainRefusal(refusing, {}, { "X-Region": "eu" }));
    expect(none).toMatchObject({
      code: "credential-missing",
      fix: { write: expect.stringMatching(/^"headers": \{"X-API-Key": "\$\{API_KEY\}"\}$/i) },
    });
    const other = firstOf(await explainRefusal(refusing, plain));
    expect(other).toMatchObject({
      code: "wrong-header",
      problem: expect.stringMatching(/^The server asks for X-API-Key, but the token is in Authorization/i),
      fix: { position: { line: 7 }, write: expect.stringMatching(/^"X-API-Key": "\$\{API_TOKEN\}"$/i) },
    });
    const same = await explainRefusal(refusing, { NOTES: "a-key-of-mine" }, { "X-API-Key": "${NOTES}" });
    expect(codesOf(same)).not.toContain("wrong-header");
    expect(codesOf(same)).not.toContain("credential-missing");
  });

  test("[TS-ERR-2] [TS-D-WHY-2] [TS-D-WHY-3] reports the times of an expired token", async () => {
    const explained = await explainRefusal({}, { API_TOKEN: tokenOf({ iat: -3, exp: -2 }) });
    expect(firstOf(explained)).toMatchObject({ code: "token-expired", fix: setToken });
    expect(firstOf(explained).problem).toMatch(/\(from API_TOKEN\) expired at 20.*Z, 2 h ago/);
    expect(firstOf(explained).evidence.join("\n")).toMatch(/Local clock: 20.*; server clock: 20/);
  });

  test("[TS-ERR-2] believes the body of a 401 that says that the token expired", async () => {
    const explained = await explainRefusal({ body: '{"error": {"message": "The access token expired"}}' }, plain);
    expect(firstOf(explained)).toMatchObject({ code: "token-expired", fix: setToken });
  });

  test("reports from when a token is valid if it is not valid yet", async () => {
    const explained = await explainRefusal({}, { API_TOKEN: tokenOf({ nbf: 2, exp: 3 }) });
    expect(firstOf(explained)).toMatchObject({ code: "token-not-yet-valid", fix: { command: "date -u" } });
  });

  test("blames the clocks if the server's clock is ahead and the token is valid by the local clock", async () => {
    const explained = await explainRefusal({ aheadHours: 5 }, { API_TOKEN: tokenOf({ iat: -1, exp: 1 }) });
    expect(firstOf(explained)).toMatchObject({ code: "clock-skew", fix: { command: "date -u" } });
    expect(firstOf(explained).problem).toContain("The server's clock is 5 h ahead of the local clock");
    expect(codesOf(explained)).toContain("token-expired");
  });

  test("blames the clocks if the server's clock is behind and the token is too new for it", async () => {
    const explained = await explainRefusal({ aheadHours: -5 }, { API_TOKEN: tokenOf({ iat: -1, exp: 1 }) });
    expect(firstOf(explained).code).toBe("clock-skew");
    expect(codesOf(explained)).toContain("token-not-yet-valid");
  });

  test("names both services if a token is for another one", async () => {
    const token = tokenOf({ exp: 1, aud: "https://graph.example.com" });
    const explained = await explainRefusal({}, { API_TOKEN: token });
    expect(firstOf(explained)).toMatchObject({ code: "wrong-audience", fix: setToken });
    expect(firstOf(explained).problem).toMatch(
      /is for "https:\/\/graph.example.com", but the server is localhost, port \d+/,
    );
  });

  test("does not blame the audience of a token for this server", async () => {
    const aud = ["https://localhost", "http://localhost"];
    const explained = await explainRefusal({}, { API_TOKEN: tokenOf({ exp: 1, aud: "localhost" }) });
    expect(codesOf(explained)).not.toContain("wrong-audience");
    expect(codesOf(await explainRefusal({}, { API_TOKEN: tokenOf({ exp: 1, aud }) }))).toContain("wrong-audience");
  });

  test("[TS-ERR-2] names a missing scope after a 401", async () => {
    const challenge = 'Bearer error="insufficient_scope", scope="notes:read notes:write"';
    const explained = await explainRefusal({ challenge }, { API_TOKEN: tokenOf({ exp: 1, scope: "notes:read" }) });
    expect(firstOf(explained)).toMatchObject({ code: "scope-missing", fix: setToken });
    expect(explained.causes[0]?.evidence.join("\n")).toContain("The token has: notes:read.");
  });

  test("[TS-ERR-2] reports another scheme than the challenge asks for", async () => {
    const basic = Buffer.from("ada:a-password").toString("base64");
    const headers = { Authorization: "Basic ${CREDENTIALS}" };
    const explained = await explainRefusal({ challenge: 'Bearer realm="api"' }, { CREDENTIALS: basic }, headers);
    expect(firstOf(explained)).toMatchObject({ code: "scheme-differs", fix: { position: { line: 7 } } });
  });

  test("[TS-ERR-2] reports Basic credentials that are not encoded", async () => {
    const headers = { Authorization: "Basic ${CREDENTIALS}" };
    const explained = await explainRefusal({}, { CREDENTIALS: "ada:a-password-of-mine" }, headers);
    expect(firstOf(explained)).toMatchObject({
      code: "credentials-malformed",
      fix: { command: "export CREDENTIALS=…" },
    });
  });

  test("[TS-ERR-2] says what a helper must print if it prints a bare token", async () => {
    const server = await startToolServer((_, response) => response.writeHead(401).end());
    const folder = await createScriptFolder();
    const helper = await folder.sh(`echo '{"Authorization": "a-token-of-mine"}'`);
    const entry = { type: "http", url: server.url.href, headersHelper: "${HOST_PLUGIN_ROOT}/script.sh" };
    const explained = await explainEntry(entry, { pluginRoot: folder.path });
    expect(firstOf(explained)).toMatchObject({ code: "scheme-missing", fix: { command: helper } });
    expect(JSON.stringify(explained)).not.toContain("a-token-of-mine");
  });

  test("[TS-ERR-2] blames the spelling of the scheme if a server that compares it exactly rejects a valid token", async () => {
    const token = "a-token-of-mine";
    const server = await startToolServer(({ headers }, response) => {
      if (headers.authorization !== `Bearer ${token}`) response.writeHead(401, { "www-authenticate": "Bearer" }).end();
    });
    const url = server.url.href;
    const explain = (Authorization: string) =>
      explainEntry({ type: "http", url, headers: { Authorization } }, { variables: { API_TOKEN: "token-of-mine" } });
    const cause = firstOf(await explain("bearer a-${API_TOKEN}"));
    expect(cause).toMatchObject({
      code: "credentials-malformed",
      problem: expect.stringContaining('does not write its scheme as "Bearer"'),
      fix: { position: { line: 7 }, advice: 'Change only the scheme, to "Bearer".' },
    });
    // A value to write would lack the "a-".
    expect(cause.fix).not.toHaveProperty("write");
    expect(cause.fix.command).toBeUndefined();
    expect((await explain("Bearer a-${API_TOKEN}")).isWell).toBe(true);

    const folder = await createScriptFolder();
    const helper = await folder.sh(`echo '{"Authorization": "bearer ${token}"}'`);
    const entry = { type: "http", url, headersHelper: "${HOST_PLUGIN_ROOT}/script.sh" };
    expect(firstOf(await explainEntry(entry, { pluginRoot: folder.path }))).toMatchObject({
      code: "credentials-malformed",
      fix: { command: helper, advice: 'Change the helper. Change only the scheme, to "Bearer".' },
    });
  });

  test("points to the helper if the server rejects its token", async () => {
    const server = await startToolServer((_, response) => response.writeHead(401).end());
    const folder = await createScriptFolder();
    const helper = await folder.sh(`echo '{"Authorization": "Bearer a-token-of-mine"}'`);
    const entry = { type: "http", url: server.url.href, headersHelper: "${HOST_PLUGIN_ROOT}/script.sh" };
    const explained = await explainEntry(entry, { pluginRoot: folder.path });
    expect(firstOf(explained)).toMatchObject({ code: "token-refused", fix: { command: helper } });
  });

  test("says that a server supports OAuth, and does not start it", async () => {
    const challenge = 'Bearer resource_metadata="https://api.example.com/.well-known/oauth-protected-resource"';
    const explained = await explainRefusal({ challenge }, plain);
    expect(codesOf(explained)).toEqual(["token-refused", "oauth-offered"]);
    expect(explained.causes[1]?.fix.command).toBe("wirescope login api");
    expect(outcomesOf(explained)["authorization-server"]).toBeUndefined();
  });

  test("finds a 401 that arrives only at tools/list, after a successful handshake", async () => {
    const server = await startToolServer(({ message }, response) => {
      if (message.method === "tools/list" || message.method === "ping") response.writeHead(401).end();
    });
    const headers = { Authorization: "Bearer ${API_TOKEN}" };
    const explained = await explainEntry({ type: "http", url: server.url.href, headers }, { variables: plain });
    expect(firstOf(explained)).toMatchObject({ code: "token-refused", fix: setToken });
  });

  test("explains a 401 to a WebSocket upgrade", async () => {
    const sockets = new WebSocketServer({ port: 0, host: "localhost", verifyClient: (_, done) => done(false, 401) });
    onTestFinished(() => sockets.close());
    await new Promise((resolve) => sockets.once("listening", resolve));
    const { port } = sockets.address() as { port: number };
    const entry = { type: "ws", url: `ws://localhost:${port}/`, headers: { Authorization: "Bearer ${API_TOKEN}" } };
    const explained = await explainEntry(entry, { variables: plain });
    expect(firstOf(explained)).toMatchObject({ code: "token-refused", fix: setToken });
    expect(outcomesOf(explained)).toMatchObject({ credential: "failed" });
  });
});

describe("403", () => {
  const forbidden = { status: 403 };

  test("[TS-ERR-3] explains a 403 without a reason by permissions, then by approval", async () => {
    const explained = await explainRefusal(forbidden, plain);
    expect(codesOf(explained)).toEqual(["permission-missing", "approval-needed"]);
  });

  test.each([undefined, "Bearer", 'Bearer error="insufficient_scope", scope="a"', 'Bearer error="expired"'])(
    "[TS-ERR-3] does not speak of a token after a 403 to a request without one, with the challenge %s",
    async (challenge) => {
      const explained = await explainRefusal({ ...forbidden, ...(challenge && { challenge }) }, {}, {});
      const problem = "The server does not allow the request, which had no credential.";
      expect(explained.causes.map((cause) => cause.problem)).toContain(problem);
      expect(firstOf(explained).fix.advice).toMatch(/^Add a credential/);
      const headlines = explained.causes.map(({ code }) => causeTable[code]);
      expect(headlines).not.toContain("The server accepts the credential, but it lacks the permission.");
      expect(JSON.stringify([explained.causes, headlines])).not.toMatch(/token/i);
    },
  );

  test("[TS-ERR-3] explains a 403 that names a scope by the scope", async () => {
    const challenge = 'Bearer error="insufficient_scope", scope="admin"';
    const explained = await explainRefusal({ ...forbidden, challenge }, plain);
    expect(firstOf(explained)).toMatchObject({ code: "scope-missing", weight: 0.95 });
    expect(firstOf(explained).problem).toContain("admin");
  });

  test("[TS-ERR-3] names both tenants if a 403 is for a tenant that is not the token's", async () => {
    const headers = { Authorization: "Bearer ${API_TOKEN}", "X-Tenant-ID": "${TENANT_ID}" };
    const variables = { API_TOKEN: tokenOf({ exp: 1, tid: "globex" }), TENANT_ID: "acme" };
    const explained = await explainRefusal(forbidden, variables, headers);
    expect(firstOf(explained)).toMatchObject({ code: "wrong-tenant", fix: { command: "export TENANT_ID=…" } });
    expect(firstOf(explained).evidence.join("\n")).toContain('X-Tenant-ID: acme; the token has tid "globex".');
  });

  test("[TS-ERR-3] points to the variable of a workspace that the server does not know", async () => {
    const headers = { "X-API-Key": "${API_KEY}", "X-Workspace-ID": "${WORKSPACE_ID}" };
    const body = '{"message": "You are not a member of this workspace"}';
    const variables = { API_KEY: "a-key-of-mine", WORKSPACE_ID: "w1" };
    const explained = await explainRefusal({ ...forbidden, body }, variables, headers);
    expect(firstOf(explained)).toMatchObject({ code: "wrong-tenant", fix: { command: "export WORKSPACE_ID=…" } });
  });

  test.each([
    '{"error": "AADSTS90094: Admin consent is required"}',
    '{"detail": "This application is pending approval by an administrator."}',
    '{"message": "OAuth app has not been approved for this organization"}',
  ])("[TS-ERR-3] explains a 403 that mentions an administrator by a missing approval: %s", async (body) => {
    const explained = await explainRefusal({ ...forbidden, body }, plain);
    expect(firstOf(explained)).toMatchObject({ code: "approval-needed" });
    expect(firstOf(explained).weight).toBeGreaterThanOrEqual(0.9);
  });

  test("[TS-D-WHY-2] does not reveal a credential that the body of a 403 repeats", async () => {
    const explained = await explainRefusal({ ...forbidden, body: "a-token-of-mine is not allowed here" }, plain);
    expect(firstOf(explained).evidence.join("\n")).toContain("[redacted] is not allowed here");
  });
});
