import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocketServer } from "ws";
import type { McpHandler } from "../connection/transports/streamable-http.test.helper.js";
import { createScriptFolder } from "../process/temporary-scripts.test.helper.js";
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
  /** By how many hours its clock is ahead. */
  readonly aheadHours?: number;
}

/** Explains a server that refuses everything so, to an entry with these headers. */
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
  test("[TS-ERR-2] to a token that says nothing of itself points to its variable", async () => {
    const explained = await explainRefusal({}, plain);
    expect(firstOf(explained)).toMatchObject({ cause: "token-refused", mend: setToken });
    expect(firstOf(explained).message).toContain("It may be wrong, revoked, or of another environment.");
  });

  test("[TS-ERR-2] [TS-D-WHY-3] to no credential at all says what to write", async () => {
    const explained = await explainRefusal({ challenge: "Bearer" }, {}, { "X-Region": "eu" });
    expect(firstOf(explained)).toMatchObject({
      cause: "nothing-sent",
      mend: { place: { line: 3 }, write: '"headers": {"Authorization": "Bearer ${API_TOKEN}"}' },
    });
  });

  test("[TS-ERR-2] [TS-D-WHY-2] [TS-D-WHY-3] to an expired token tells its times", async () => {
    const explained = await explainRefusal({}, { API_TOKEN: tokenOf({ iat: -3, exp: -2 }) });
    expect(firstOf(explained)).toMatchObject({ cause: "token-expired", mend: setToken });
    expect(firstOf(explained).message).toMatch(/\(from API_TOKEN\) expired at 20.*Z, 2 h ago/);
    expect(firstOf(explained).evidence.join("\n")).toMatch(/The clock here: 20.*; that of the server: 20/);
  });

  test("[TS-ERR-2] whose body says that the token expired is believed", async () => {
    const explained = await explainRefusal({ body: '{"error": {"message": "The access token expired"}}' }, plain);
    expect(firstOf(explained)).toMatchObject({ cause: "token-expired", mend: setToken });
  });

  test("to a token of the future tells from when it is valid", async () => {
    const explained = await explainRefusal({}, { API_TOKEN: tokenOf({ nbf: 2, exp: 3 }) });
    expect(firstOf(explained)).toMatchObject({ cause: "token-not-yet-valid", mend: { command: "date -u" } });
  });

  test("of a server whose clock is ahead is a matter of clocks, where the token is valid by the one here", async () => {
    const explained = await explainRefusal({ aheadHours: 5 }, { API_TOKEN: tokenOf({ iat: -1, exp: 1 }) });
    expect(firstOf(explained)).toMatchObject({ cause: "clock-skew", mend: { command: "date -u" } });
    expect(firstOf(explained).message).toContain("The clock of the server is 5 h ahead of the one here");
    expect(codesOf(explained)).toContain("token-expired");
  });

  test("of a server whose clock is behind is a matter of clocks, where the token is too new for it", async () => {
    const explained = await explainRefusal({ aheadHours: -5 }, { API_TOKEN: tokenOf({ iat: -1, exp: 1 }) });
    expect(firstOf(explained).cause).toBe("clock-skew");
    expect(codesOf(explained)).toContain("token-not-yet-valid");
  });

  test("to a token for another service names both", async () => {
    const token = tokenOf({ exp: 1, aud: "https://graph.example.com" });
    const explained = await explainRefusal({}, { API_TOKEN: token });
    expect(firstOf(explained)).toMatchObject({ cause: "wrong-audience", mend: setToken });
    expect(firstOf(explained).message).toMatch(
      /is for "https:\/\/graph.example.com", and the server is localhost, port \d+/,
    );
  });

  test("to a token for this server does not doubt the audience", async () => {
    const aud = ["https://localhost", "http://localhost"];
    const explained = await explainRefusal({}, { API_TOKEN: tokenOf({ exp: 1, aud: "localhost" }) });
    expect(codesOf(explained)).not.toContain("wrong-audience");
    expect(codesOf(await explainRefusal({}, { API_TOKEN: tokenOf({ exp: 1, aud }) }))).toContain("wrong-audience");
  });

  test("[TS-ERR-2] with a scope that is lacking names it", async () => {
    const challenge = 'Bearer error="insufficient_scope", scope="notes:read notes:write"';
    const explained = await explainRefusal({ challenge }, { API_TOKEN: tokenOf({ exp: 1, scope: "notes:read" }) });
    expect(firstOf(explained)).toMatchObject({ cause: "scope-missing", mend: setToken });
    expect(explained.causes[0]?.evidence.join("\n")).toContain("The token has: notes:read.");
  });

  test("[TS-ERR-2] to another scheme than is asked for names both", async () => {
    const basic = Buffer.from("ada:a-password").toString("base64");
    const headers = { Authorization: "Basic ${CREDENTIALS}" };
    const explained = await explainRefusal({ challenge: 'Bearer realm="api"' }, { CREDENTIALS: basic }, headers);
    expect(firstOf(explained)).toMatchObject({ cause: "scheme-differs", mend: { place: { line: 7 } } });
  });

  test("[TS-ERR-2] to Basic credentials that are not encoded says so", async () => {
    const headers = { Authorization: "Basic ${CREDENTIALS}" };
    const explained = await explainRefusal({}, { CREDENTIALS: "ada:a-password-of-mine" }, headers);
    expect(firstOf(explained)).toMatchObject({
      cause: "credentials-malformed",
      mend: { command: "export CREDENTIALS=…" },
    });
  });

  test("[TS-ERR-2] to a helper's bare token says what the helper has to write", async () => {
    const server = await startToolServer((_, response) => response.writeHead(401).end());
    const folder = await createScriptFolder();
    const helper = await folder.sh(`echo '{"Authorization": "a-token-of-mine"}'`);
    const entry = { type: "http", url: server.url.href, headersHelper: "${HOST_PLUGIN_ROOT}/script.sh" };
    const explained = await explainEntry(entry, { pluginRoot: folder.path });
    expect(firstOf(explained)).toMatchObject({ cause: "scheme-missing", mend: { command: helper } });
    expect(JSON.stringify(explained)).not.toContain("a-token-of-mine");
  });

  test("to a helper's token that is refused leads to the helper", async () => {
    const server = await startToolServer((_, response) => response.writeHead(401).end());
    const folder = await createScriptFolder();
    const helper = await folder.sh(`echo '{"Authorization": "Bearer a-token-of-mine"}'`);
    const entry = { type: "http", url: server.url.href, headersHelper: "${HOST_PLUGIN_ROOT}/script.sh" };
    const explained = await explainEntry(entry, { pluginRoot: folder.path });
    expect(firstOf(explained)).toMatchObject({ cause: "token-refused", mend: { command: helper } });
  });

  test("of a server that offers OAuth says so, and never falls into it", async () => {
    const challenge = 'Bearer resource_metadata="https://api.example.com/.well-known/oauth-protected-resource"';
    const explained = await explainRefusal({ challenge }, plain);
    expect(codesOf(explained)).toEqual(["token-refused", "oauth-offered"]);
    expect(explained.causes[1]?.mend.command).toBe("wirescope login api");
    expect(outcomesOf(explained)["authorization-server"]).toBeUndefined();
  });

  test("that comes only at the list of tools is found after a good handshake", async () => {
    const server = await startToolServer(({ message }, response) => {
      if (message.method === "tools/list" || message.method === "ping") response.writeHead(401).end();
    });
    const headers = { Authorization: "Bearer ${API_TOKEN}" };
    const explained = await explainEntry({ type: "http", url: server.url.href, headers }, { variables: plain });
    expect(firstOf(explained)).toMatchObject({ cause: "token-refused", mend: setToken });
  });

  test("of a WebSocket's upgrade is explained as well", async () => {
    const sockets = new WebSocketServer({ port: 0, host: "localhost", verifyClient: (_, done) => done(false, 401) });
    onTestFinished(() => sockets.close());
    await new Promise((resolve) => sockets.once("listening", resolve));
    const { port } = sockets.address() as { port: number };
    const entry = { type: "ws", url: `ws://localhost:${port}/`, headers: { Authorization: "Bearer ${API_TOKEN}" } };
    const explained = await explainEntry(entry, { variables: plain });
    expect(firstOf(explained)).toMatchObject({ cause: "token-refused", mend: setToken });
    expect(outcomesOf(explained)).toMatchObject({ credential: "failed" });
  });
});

describe("403", () => {
  const forbidden = { status: 403 };

  test("[TS-ERR-3] without a word is a matter of permissions, then of approval", async () => {
    const explained = await explainRefusal(forbidden, plain);
    expect(codesOf(explained)).toEqual(["permission-missing", "approval-needed"]);
  });

  test("[TS-ERR-3] that names a scope is a matter of that", async () => {
    const challenge = 'Bearer error="insufficient_scope", scope="admin"';
    const explained = await explainRefusal({ ...forbidden, challenge }, plain);
    expect(firstOf(explained)).toMatchObject({ cause: "scope-missing", weight: 0.95 });
    expect(firstOf(explained).message).toContain("admin");
  });

  test("[TS-ERR-3] for a tenant that is not the token's names both", async () => {
    const headers = { Authorization: "Bearer ${API_TOKEN}", "X-Tenant-ID": "${TENANT_ID}" };
    const variables = { API_TOKEN: tokenOf({ exp: 1, tid: "globex" }), TENANT_ID: "acme" };
    const explained = await explainRefusal(forbidden, variables, headers);
    expect(firstOf(explained)).toMatchObject({ cause: "wrong-tenant", mend: { command: "export TENANT_ID=…" } });
    expect(firstOf(explained).evidence.join("\n")).toContain('X-Tenant-ID: acme; the token has tid "globex".');
  });

  test("[TS-ERR-3] for a workspace that the server does not know leads to its variable", async () => {
    const headers = { "X-API-Key": "${API_KEY}", "X-Workspace-ID": "${WORKSPACE_ID}" };
    const body = '{"message": "You are not a member of this workspace"}';
    const variables = { API_KEY: "a-key-of-mine", WORKSPACE_ID: "w1" };
    const explained = await explainRefusal({ ...forbidden, body }, variables, headers);
    expect(firstOf(explained)).toMatchObject({ cause: "wrong-tenant", mend: { command: "export WORKSPACE_ID=…" } });
  });

  test.each([
    '{"error": "AADSTS90094: Admin consent is required"}',
    '{"detail": "This application is pending approval by an administrator."}',
    '{"message": "OAuth app has not been approved for this organization"}',
  ])("[TS-ERR-3] that speaks of an administrator is a matter of approval: %s", async (body) => {
    const explained = await explainRefusal({ ...forbidden, body }, plain);
    expect(firstOf(explained)).toMatchObject({ cause: "approval-needed" });
    expect(firstOf(explained).weight).toBeGreaterThanOrEqual(0.9);
  });

  test("[TS-D-WHY-2] with a body that repeats the credential tells none of it", async () => {
    const explained = await explainRefusal({ ...forbidden, body: "a-token-of-mine is not allowed here" }, plain);
    expect(firstOf(explained).evidence.join("\n")).toContain("[redacted] is not allowed here");
  });
});
