import type { ServerResponse } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocketServer } from "ws";
import { createOAuthWorld } from "../../auth/oauth/oauth-world.test.helper.js";
import {
  hold,
  initializeResult,
  type McpHandler,
  respondJson,
  resultOf,
} from "../../connection/transports/streamable-http.test.helper.js";
import { serveWebSockets } from "../../connection/transports/websocket.test.helper.js";
import { channels, type TraceEvent } from "../../diagnostics.js";
import { createScriptFolder } from "../../process/temporary-scripts.test.helper.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import type { AttemptEvidence } from "../evidence.js";
import { explainOptionsOf, startToolServer } from "../explain.test.helper.js";
import type { ExplainOptions } from "../explanation.js";
import { walkServer } from "./walk-server.js";

const variables = { API_TOKEN: "a-token-of-mine" };
const headers = { Authorization: "Bearer ${API_TOKEN}" };

/** Connects to a server that does this, with a token. */
async function attempt(over: McpHandler, options: Partial<ExplainOptions> = {}): Promise<AttemptEvidence> {
  const server = await startToolServer(over);
  const entry = { type: "http", url: server.url.href, headers };
  const seen = await walkServer(explainOptionsOf(entry, { variables, ...options }));
  await expect.poll(() => server.sockets.size).toBe(0);
  if (seen.attempt === undefined) throw new Error("The walk did not get that far.");
  return seen.attempt;
}

/** Responds to `initialize` like this, and to `tools/list` with these tools. */
const serve =
  (result: object, tools: readonly object[] = []): McpHandler =>
  ({ message }, response) => {
    if (message.method === "initialize") respondJson(response, resultOf(message, { ...initializeResult, ...result }));
    if (message.method === "tools/list") respondJson(response, resultOf(message, { tools }));
  };
const refuse = (response: ServerResponse, status = 401): void =>
  void response.writeHead(status, { "www-authenticate": "Bearer", date: "Tue, 01 Jan 2030 00:00:00 GMT" }).end("No.");

describe("a server that works", () => {
  const tool = { name: "one", inputSchema: { type: "object" } };

  test("describes a server that works with its tools, without secrets and control characters, truncated", async () => {
    const secrets = createSecretRegistry();
    secrets.add("a-secret-of-mine");
    const serverInfo = { name: `a-secret-of-mine ${"x".repeat(200)}`, version: `1\u001b[31m ${"y".repeat(100)}` };
    const { connected, failure, response, refusal } = await attempt(
      serve({ serverInfo, capabilities: { tools: {} } }, [tool, { ...tool, name: "two" }]),
      { secrets },
    );
    expect(connected).toMatchObject({ era: "legacy", tools: 2, protocolVersion: initializeResult.protocolVersion });
    expect(connected?.name).toMatch(/^\[redacted\] x+…$/);
    expect(connected?.name).toHaveLength(100);
    expect(connected?.version).toMatch(/^1\\x1b\[31m y+…$/);
    expect([failure, response, refusal]).toEqual([undefined, undefined, undefined]);
  });

  test("pings a server that has no tools", async () => {
    const methods: string[] = [];
    const { connected } = await attempt((request, response, index) => {
      if (request.message.method !== undefined) methods.push(request.message.method);
      serve({ capabilities: {} })(request, response, index);
    });
    expect(connected).toMatchObject({ tools: undefined });
    expect(methods).toContain("ping");
    expect(methods).not.toContain("tools/list");
  });
});

describe("a server that fails", () => {
  test("reports a server that fails after the handshake with its description and its last response", async () => {
    const { connected, failure, response, refusal } = await attempt((request, response, index) => {
      if (request.message.method === "tools/list") response.writeHead(500).end("The tools are gone.");
      else serve({ capabilities: { tools: {} } })(request, response, index);
    });
    expect(connected).toMatchObject({ name: expect.any(String), tools: undefined });
    expect(failure).toMatchObject({ code: "SERVER_FAILED", status: 500 });
    expect(response).toMatchObject({ status: 500, excerpt: "The tools are gone." });
    expect(refusal).toBeUndefined();
  });

  test("reports a failure, and not the earlier refusal of a credential that was replaced", async () => {
    const folder = await createScriptFolder();
    // Another token with each run.
    await folder.sh(`echo '{"Authorization": "Bearer a-token-'$$'"}'`);
    const server = await startToolServer((_, response, index) => {
      if (index === 0) refuse(response);
      else response.writeHead(500).end("It failed.");
    });
    const entry = { type: "http", url: server.url.href, headersHelper: "${HOST_PLUGIN_ROOT}/script.sh" };
    const { attempt } = await walkServer(explainOptionsOf(entry, { pluginRoot: folder.path }));
    expect(attempt).toMatchObject({ credential: "helper", failure: { status: 500 }, response: { status: 500 } });
    expect(attempt?.refusal).toBeUndefined();
  });
});

describe("a server that refuses the credential", () => {
  test.each([401, 403])(
    "reports a refusal with the response, the challenge and the clock of the server: %i",
    async (status) => {
      const { credential, connected, response, refusal } = await attempt((_, response) => refuse(response, status));
      expect(credential).toBe("headers");
      expect(connected).toBeUndefined();
      expect(response).toMatchObject({ status, excerpt: "No." });
      expect(refusal).toMatchObject({ status, challenge: { schemes: expect.anything() }, skewMs: expect.any(Number) });
      expect(refusal?.headers).toMatchObject([{ name: "Authorization" }]);
    },
  );

  test.each([401, 403])("reports a refusal over a WebSocket, which has no recorded response: %i", async (status) => {
    const sockets = new WebSocketServer({ port: 0, host: "localhost", verifyClient: (_, done) => done(false, status) });
    onTestFinished(() => sockets.close());
    await new Promise((resolve) => sockets.once("listening", resolve));
    const { port } = sockets.address() as { port: number };
    const entry = { type: "ws", url: `ws://localhost:${port}/`, headers };
    const { attempt } = await walkServer(explainOptionsOf(entry, { variables }));
    expect(attempt).toMatchObject({ response: undefined, refusal: { status } });
  });

  test.each([
    [3000, 401],
    [3003, 403],
  ])(
    "reports a WebSocket that the server closes with %i as a refusal of the headers of its upgrade",
    async (closeCode, status) => {
      const server = await serveWebSockets((socket) => socket.on("message", () => socket.close(closeCode, "No.")), {
        handleProtocols: () => "mcp",
      });
      const { attempt } = await walkServer(explainOptionsOf({ type: "ws", url: server.url, headers }, { variables }));
      expect(attempt).toMatchObject({ response: undefined, refusal: { status, headers: [{ name: "Authorization" }] } });
    },
  );

  test("reports the refusal if the refused credential cannot be replaced", async () => {
    const folder = await createScriptFolder();
    await folder.sh(`[ -e ran ] && exit 1; touch ran; echo '{"Authorization": "Bearer a-token-of-mine"}'`);
    const server = await startToolServer((_, response) => refuse(response));
    const entry = { type: "http", url: server.url.href, headersHelper: "${HOST_PLUGIN_ROOT}/script.sh" };
    const { attempt } = await walkServer(explainOptionsOf(entry, { pluginRoot: folder.path }));
    expect(attempt).toMatchObject({
      failure: { code: "HELPER_FAILED" },
      response: { status: 401, excerpt: "No." },
      refusal: { status: 401, challenge: { schemes: ["bearer"] }, skewMs: expect.any(Number) },
    });
    expect(attempt?.refusal?.headers).toMatchObject([{ name: "Authorization" }]);
  });

  test("reports the refused request, and not the stream of the session, which responds later", async () => {
    let stream: ServerResponse | undefined;
    let refused: ServerResponse | undefined;
    const onTrace = (event: unknown): void => {
      const { text } = event as TraceEvent;
      if (text.includes("returned 403")) stream?.writeHead(405).end();
      // The body of the refusal is read to its end before the responses are looked at.
      if (text.includes("returned 405")) refused?.end("No.");
    };
    channels.trace.subscribe(onTrace);
    onTestFinished(() => void channels.trace.unsubscribe(onTrace));
    const { failure, response, refusal } = await attempt((request, response, index) => {
      const isList = request.message.method === "tools/list";
      if (request.method !== "GET" && !isList) {
        serve({ capabilities: { tools: {} } })(request, response, index);
        return;
      }
      if (isList) refused = response;
      else stream = response;
      hold(response);
      if (stream !== undefined) refused?.writeHead(403).flushHeaders();
    });
    expect(failure).toMatchObject({ code: "FORBIDDEN" });
    expect(response).toMatchObject({ method: "POST", status: 403, excerpt: "No." });
    expect(refusal).toMatchObject({ status: 403 });
  });

  test("reports the response of the tool server, and not that of its authorization server", async () => {
    const world = await createOAuthWorld();
    await world.session({ server: "api", tenant: "[]" }).signIn(world.person);
    world.authorization.endAllAccess();
    world.authorization.forgetClients();
    const oauth = { profile: "test", openVault: async () => ({ ...world.vault, dispose: async () => {} }) };
    const entry = { type: "http", url: world.tool.url };
    const { attempt } = await walkServer(explainOptionsOf(entry, { secrets: world.secrets, oauth }));
    expect(attempt).toMatchObject({
      failure: { code: "SIGN_IN_NEEDED" },
      response: { path: "/mcp", status: 401 },
      refusal: { status: 401 },
    });
  });
});
