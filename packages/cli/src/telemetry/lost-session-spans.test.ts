import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { SpanKind } from "@opentelemetry/api";
import { expect, onTestFinished, test, vi } from "vitest";
import { pollOptions, startFollowed } from "./followed-gateway.test.helper.js";

/** A legacy server that has lost its session when a tool is called for the first time. */
async function serveForgetful(): Promise<string> {
  let sessions = 0;
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => (text += chunk));
    request.on("end", () => {
      const { id, method } = JSON.parse(text || "{}");
      const send = (outcome: object): void => {
        response.writeHead(200, { "content-type": "application/json", "mcp-session-id": `session-${sessions}` });
        response.end(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
      };
      const reply = (result: object): void => send({ result });
      if (method === "initialize") {
        sessions += 1;
        const serverInfo = { name: "forgetful", version: "1.0.0" };
        reply({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo });
      } else if (method === "tools/list") reply({ tools: [{ name: "work", inputSchema: { type: "object" } }] });
      else if (method === "tools/call" && sessions > 1) reply({ content: [{ type: "text", text: "done" }] });
      else if (method === "tools/call" || (method === "ping" && sessions === 1)) response.writeHead(404).end();
      else if (id !== undefined) send({ error: { code: -32_601, message: "Method not found" } });
      else response.writeHead(request.method === "GET" ? 405 : 202).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

test("records a call that is sent again over a new session as one span with the retry", async () => {
  const forgetful = { type: "http", url: await serveForgetful() };
  const { send, spans, gateway } = await startFollowed({}, { forgetful });
  await vi.waitFor(() => expect(gateway.servers()[2]?.tools).toBe(1), pollOptions);
  const { result } = await send("tools/call", { name: "forgetful__work", arguments: {} });
  expect(result.content[0].text).toBe("done");
  const clientSpans = spans().filter(({ kind }) => kind === SpanKind.CLIENT);
  expect(clientSpans).toHaveLength(1);
  expect(clientSpans[0]?.attributes).not.toHaveProperty("error.type");
  expect(clientSpans[0]?.attributes["mcp.protocol.version"]).toBe("2025-11-25");
  expect(clientSpans[0]?.events.map(({ name, attributes }) => [name, attributes?.["wirescope.state"]])).toEqual([
    // A session that was lost sooner than the first delay of the backoff counts as a failure; a slow machine lets it live longer.
    ["wirescope.connection.state", expect.stringMatching(/^(IDLE|TRANSIENT_FAILURE)$/)],
    ["wirescope.connection.state", "CONNECTING"],
    ["wirescope.connection.state", "READY"],
    ["wirescope.sent_again", undefined],
  ]);
});
