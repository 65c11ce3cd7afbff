import { Client, PROTOCOL_VERSION_META_KEY } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createHelperCredential } from "../../auth/credentials/helper-credential.js";
import { ToolServerError } from "../../errors.js";
import { createFakeClock } from "../../fake-clock.test.helper.js";
import { createScriptFolder } from "../../process/temporary-scripts.test.helper.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { waiting } from "../../waiting.test.helper.js";
import {
  hold,
  initializeResult,
  respondEvents,
  respondJson,
  resultOf,
  serveWell,
  startTransport,
} from "./streamable-http.test.helper.js";

const modern = { _meta: { [PROTOCOL_VERSION_META_KEY]: "2026-07-28" } };

describe("headers", () => {
  test("[TS-HEADER-3] sends the headers of the entry with every request: posts, the event stream, and the end of the session", async () => {
    const headers = [{ Authorization: "Bearer t0ken-of-the-test", "X-Workspace-ID": "w1" }];
    const { server, transport, send, notify } = await startTransport(serveWell(), { headers });
    await send("initialize");
    await notify("notifications/initialized");
    await vi.waitFor(() => expect(server.requests.some(({ method }) => method === "GET")).toBe(true), waiting);
    await send("tools/list");
    await transport.close();
    expect(server.requests.map(({ method }) => method).sort()).toEqual(["DELETE", "GET", "POST", "POST", "POST"]);
    for (const request of server.requests) {
      expect(request.headers).toMatchObject({ authorization: "Bearer t0ken-of-the-test", "x-workspace-id": "w1" });
    }
  });

  test("requests the headers again for each request, instead of keeping them for the life of a transport", async () => {
    let asked = 0;
    const { server, send } = await startTransport(serveWell(), {}, () => ({
      kind: "helper",
      headers: async () => {
        asked += 1;
        return { "X-Signature": `signature-${asked}` };
      },
      environment: () => ({}),
      refused: async () => ({ action: "give-up", reason: "" }),
      describe: () => ({ kind: "helper", summary: "", headers: [], environment: [] }),
      dispose: async () => {},
    }));
    await send("a");
    await send("b");
    expect(server.requests.map(({ headers }) => headers["x-signature"])).toEqual(["signature-1", "signature-2"]);
  });

  test("sets the protocol's headers by session and message, and lets the sender override none of them", async () => {
    const { server, transport, send, notify } = await startTransport(serveWell(), {
      headers: [{ "X-API-Key": "the-key" }],
    });
    const more = {
      "Mcp-Session-Id": "x",
      Authorization: "x",
      DPoP: "x",
      accept: "x",
      "x-api-key": "x",
      "Mcp-Param-Region": "eu",
    };
    await send("initialize", {}, { headers: more });
    transport.setProtocolVersion?.("2025-06-18");
    await notify("notifications/initialized");
    await send("tools/call", { name: "grüße" }, { headers: more });
    await send("tools/call", { name: " a ", ...modern });
    await send("resources/read", { uri: "file:///a", ...modern });
    await send("constructor", modern);
    await send("initialize");
    const posts = server.requests.filter(({ method }) => method === "POST").map(({ headers }) => headers);
    expect(posts[0]).toMatchObject({
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "x-api-key": "the-key",
      "mcp-param-region": "eu",
    });
    for (const name of ["mcp-session-id", "mcp-protocol-version", "mcp-method", "authorization", "dpop"])
      expect(posts[0]).not.toHaveProperty(name);
    expect(posts[1]).toMatchObject({ "mcp-session-id": "session-0123456789", "mcp-protocol-version": "2025-06-18" });
    expect(posts[2]).toMatchObject({ "mcp-session-id": "session-0123456789" });
    expect(posts[2]).not.toHaveProperty("mcp-name");
    expect(posts[3]).toMatchObject({
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": `=?base64?${Buffer.from(" a ").toString("base64")}?=`,
    });
    expect(posts[4]).toMatchObject({ "mcp-method": "resources/read", "mcp-name": "file:///a" });
    expect(posts[5]).toMatchObject({ "mcp-method": "constructor" });
    expect(posts[5]).not.toHaveProperty("mcp-name");
    expect(posts[6]).not.toHaveProperty("mcp-session-id");
  });
});

describe("a refusal", () => {
  const challenge = 'Bearer realm="x", resource_metadata="https://evil.example/.well-known/oauth-protected-resource"';

  test.each([
    ["a personal token, though the server advertises OAuth", { Authorization: "Bearer my-personal-token" }],
    ["an API key", { "X-API-Key": "my-api-key-value" }],
  ])("[TS-D-AUTH-1] reports a refusal of %s with a diagnosis, and never registers a client", async (_, headers) => {
    const started = await startTransport(
      (_request, response) => response.writeHead(401, { "www-authenticate": challenge }).end(),
      { headers: [headers] },
    );
    const failure = await started.fail("initialize");
    expect(failure).toMatchObject({ code: "UNAUTHORIZED", details: { status: 401 } });
    expect(failure.details.causes?.length).toBeGreaterThan(0);
    expect(failure.message).toContain("API_TOKEN");
    expect(failure.message).not.toMatch(/my-personal-token|my-api-key-value/);
    expect(started.server.requests.map(({ method, url }) => `${method} ${url}`)).toEqual(["POST /mcp"]);
  });

  test("[TS-ERR-2] gives the problem, the evidence and the advice of a refusal's likeliest cause separately", async () => {
    const headers = { "www-authenticate": 'Bearer error="invalid_token", error_description="The token expired"' };
    const started = await startTransport((_request, response) => response.writeHead(401, headers).end(), {
      headers: [{ Authorization: "Bearer t0k3n-of-ada" }],
    });
    const failure = await started.fail("initialize");
    expect(failure.details.causes?.[0]).toMatchObject({ code: "token-expired", weight: 0.9 });
    expect(failure.problem).toMatch(/The server says that the token has expired\.$/);
    expect(failure.evidence).toBe("The challenge says: invalid_token: The token expired.");
    expect(failure.advice).toBe("Get a new credential and set API_TOKEN.");
    expect(failure.details.refusal).toMatchObject({ status: 401, challenge: { error: "invalid_token" } });
  });

  test("[TS-D-AUTH-1] reports a 403 as FORBIDDEN, with the server's message", async () => {
    const headers = { "www-authenticate": 'Bearer error="insufficient_scope", scope="files:write"' };
    const started = await startTransport((_, response) => response.writeHead(403, headers).end(), {
      headers: [{ Authorization: "Bearer abcdefgh" }],
    });
    const failure = await started.fail();
    expect(failure).toMatchObject({ code: "FORBIDDEN", details: { status: 403 } });
    expect(failure.message).toContain("files:write");
  });

  test("retries once after a refusal if the credential has other headers by then", async () => {
    const { server, published, send } = await startTransport(
      ({ headers, message }, response) => {
        if (headers.authorization === "Bearer new-token") respondJson(response, resultOf(message));
        else response.writeHead(401).end("no");
      },
      { headers: [{ Authorization: "Bearer old-token" }, { Authorization: "Bearer new-token" }] },
    );
    await send("tools/list");
    expect(server.requests).toHaveLength(2);
    expect(published.words()).toContain("The server returned 401; retrying");
    await send("tools/list");
    expect(server.requests).toHaveLength(3);
  });

  test("[TS-D-AUTH-1] runs the helper again, once for all refused requests, and never registers a client", async () => {
    const folder = await createScriptFolder();
    const helper = await folder.sh(
      `echo x >> "${folder.path}/runs"; n=$(wc -l < "${folder.path}/runs" | tr -d ' '); echo "{\\"Authorization\\": \\"Bearer helper-token-$n\\"}"`,
    );
    const secrets = createSecretRegistry();
    const credential = createHelperCredential({
      server: "notes",
      url: "https://x.example",
      helper,
      pluginRoot: folder.path,
      environment: { PATH: process.env.PATH },
      secrets,
    });
    onTestFinished(() => credential.dispose());
    let accepted = "Bearer helper-token-1";
    const started = await startTransport(
      ({ headers, message }, response) => {
        if (headers.authorization === accepted) respondJson(response, resultOf(message));
        else response.writeHead(401, { "www-authenticate": challenge }).end();
      },
      {},
      () => credential,
    );
    await started.send("tools/list");
    accepted = "Bearer helper-token-2";
    await Promise.all(Array.from({ length: 5 }, () => started.send("tools/list")));
    accepted = "Bearer nobody";
    expect(await started.fail()).toMatchObject({ code: "UNAUTHORIZED" });
    expect(started.server.requests.every(({ url }) => url === "/mcp")).toBe(true);
    expect(new Set(started.server.requests.map(({ headers }) => headers.authorization)).size).toBe(3);
  });
});

describe("a cancelled request", () => {
  test("ends the exchange of a cancelled request in the newer era", async () => {
    const started = await startTransport((_, response) => respondEvents(response, ": wait\n\n"));
    const controller = new AbortController();
    let ends = 0;
    const options = { requestSignal: controller.signal, onRequestStreamEnd: () => (ends += 1) };
    const failure = started.fail("tools/call", modern, options);
    await vi.waitFor(() => expect(started.server.sockets.size).toBe(1), waiting);
    controller.abort();
    expect(await failure).toMatchObject({ code: "CALL_CANCELLED" });
    await vi.waitFor(() => expect(started.server.sockets.size).toBe(0), waiting);
    expect(ends).toBe(0);
  });

  test("cancels a request at the server in the older era, and ends its exchange too", async () => {
    const started = await startTransport(
      serveWell(({ message }, response) => message.method === "tools/call" && hold(response)),
    );
    const failure = started.fail();
    await vi.waitFor(() => expect(started.server.requests).toHaveLength(1), waiting);
    await started.notify("notifications/cancelled", { requestId: 1 });
    expect(await failure).toMatchObject({ code: "CALL_CANCELLED", details: { wasSent: true } });
    expect(started.server.requests).toHaveLength(2);
  });

  test("notifies the observer of a stream that ends by itself, after the request failed", async () => {
    const started = await startTransport((_, response) => respondEvents(response, ": wait\n\n").end());
    const order: string[] = [];
    const sent = started.send("subscriptions/listen", modern, { onRequestStreamEnd: () => order.push("stream end") });
    await sent.catch(() => order.push("failure"));
    await vi.waitFor(() => expect(order).toEqual(["failure", "stream end"]), waiting);
  });
});

describe("close", () => {
  test("waits no longer than a second for a server that does not end the session", async () => {
    const clock = createFakeClock();
    const started = await startTransport(
      serveWell(({ method }, response) => method === "DELETE" && hold(response)),
      { clock },
    );
    await started.send("initialize");
    const closed = started.transport.close();
    await vi.waitFor(() => expect(started.server.requests.at(-1)?.method).toBe("DELETE"), waiting);
    expect(started.closings()).toBe(0);
    clock.advance(1000);
    await closed;
    expect(started.closings()).toBe(1);
  });

  test.each([true, false])(
    "reports for each call in flight whether it may have arrived, before the SDK ends them all alike (with a session: %s)",
    async (hasSession) => {
      const started = await startTransport(
        serveWell(({ message }, response) => {
          if (message.method === "tools/call") hold(response);
          if (message.method === "initialize" && !hasSession)
            respondJson(response, resultOf(message, initializeResult));
        }),
      );
      const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "legacy" } });
      const { transport } = started;
      transport.start = async () => {};
      await client.connect(transport);
      const call = client.callTool({ name: "x", arguments: {} }).catch((error: unknown) => error);
      await vi.waitFor(
        () => expect(started.server.requests.some(({ body }) => body.includes("tools/call"))).toBe(true),
        waiting,
      );
      await client.close();
      expect(await call).toBeInstanceOf(ToolServerError);
      expect(await call).toMatchObject({ code: "CONNECTION_CLOSED", details: { wasSent: true } });
    },
  );
});
