import type { ServerResponse } from "node:http";
import { Client } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { ToolServerError } from "../../errors.js";
import { initializeResult, respondJson, resultOf, serveWell, startTransport } from "./streamable-http.test.helper.js";
import { createStreamableHttpTransport } from "./streamable-http-transport.js";

describe("the probe for the newer era", () => {
  type Respond = (response: ServerResponse, id: unknown) => unknown;

  async function connect(respond: Respond): Promise<Client> {
    const started = await startTransport(
      serveWell(({ message }, response) => {
        if (message.method === "server/discover") respond(response, message.id);
        if (message.method === "initialize") respondJson(response, resultOf(message, initializeResult));
      }),
    );
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "auto" } });
    onTestFinished(() => client.close());
    const transport = createStreamableHttpTransport(started.context);
    await client.connect(transport);
    return client;
  }

  const rpcError = (id: unknown, code: number): string =>
    JSON.stringify({ jsonrpc: "2.0", id, error: { code, message: "x" } });

  test.each<[string, Respond]>([
    ["400", (response) => response.writeHead(400).end("Bad Request")],
    [
      "400 with a JSON-RPC error",
      (response, id) => response.writeHead(400, { "content-type": "application/json" }).end(rpcError(id, -32000)),
    ],
    [
      "400 with a JSON-RPC error without an id",
      (response) => response.writeHead(400, { "content-type": "application/json" }).end(rpcError(null, -32600)),
    ],
    ["404", (response) => response.writeHead(404).end()],
    ["405", (response) => response.writeHead(405).end()],
    ["422", (response) => response.writeHead(422).end("{}")],
    ["an error for an unknown method", (response, id) => respondJson(response, rpcError(id, -32601))],
  ])("takes a server whose response to the probe is %s for one of the older era", async (_, response) => {
    expect((await connect(response)).getProtocolEra()).toBe("legacy");
  });

  test.each<[string, Respond, string]>([
    ["401", (response) => response.writeHead(401).end(), "UNAUTHORIZED"],
    ["403", (response) => response.writeHead(403).end(), "FORBIDDEN"],
    ["500", (response) => response.writeHead(500).end(), "SERVER_FAILED"],
    ["503", (response) => response.writeHead(503).end(), "SERVER_FAILED"],
    [
      "a page",
      (response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
      "NOT_A_TOOL_SERVER",
    ],
    ["a redirect", (response) => response.writeHead(302, { location: "https://x.example" }).end(), "REDIRECT_REFUSED"],
    ["the end of the connection", (response) => response.socket?.destroy(), "CONNECTION_LOST"],
  ])("fails with an error of our own if the response to the probe is %s", async (_, response, code) => {
    const error = await connect(response).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    let own: unknown = error;
    while (own instanceof Error && !ToolServerError.is(own)) own = own.cause;
    expect(own).toMatchObject({ code });
  });
});
