import { createServer, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { expect, onTestFinished, test } from "vitest";
import { startProcess } from "./running-process.test.helper.js";
import { serveSmall, serveSmallSse, serveSmallWs } from "./small-servers.test.helper.js";

/** A server of the newer era that announces changes of its tools. */
function serveModern(): Promise<string> {
  const handler = createMcpHandler(() => {
    const server = new McpServer(
      { name: "modern", version: "1.0.0" },
      { capabilities: { tools: { listChanged: true } } },
    );
    server.registerTool("echo", {}, () => ({ content: [{ type: "text", text: "Echo: hi" }] }));
    return server;
  });
  return serve(toNodeHandler(handler) as RequestListener);
}

/** A server whose event stream stays open, or does not even begin. */
async function serveWithStream(respond: (response: ServerResponse) => void): Promise<string> {
  const url = await serveSmall();
  return serve(async (request, response) => {
    if (request.method === "GET") return respond(response);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { "content-type": type = "", accept = "" } = request.headers;
    const body = Buffer.concat(chunks);
    const reply = await fetch(url, { method: "POST", headers: { "content-type": type, accept }, body });
    response.writeHead(reply.status, { "content-type": "application/json" }).end(await reply.text());
  });
}

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

test.each<[string, () => Promise<string>]>([
  ["without an event stream", serveSmall],
  ["of the newer era, with a subscription", serveModern],
  [
    "with an event stream",
    () =>
      serveWithStream((response) => response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()),
  ],
  ["whose event stream never begins", () => serveWithStream(() => {})],
  ["whose event stream fails again and again", () => serveWithStream((response) => response.writeHead(503).end())],
  ["over HTTP with SSE", serveSmallSse],
  ["over WebSocket", serveSmallWs],
])("a program that does not close its connection exits after its last call, with a server %s", async (_, start) => {
  const program = `
    import { connectToolServer } from "@wirescope/tool-server";
    const server = await connectToolServer({ url: ${JSON.stringify(await start())} });
    await server.callTool({ name: "echo", arguments: { message: "hi" } });
    setTimeout(async () => {
      const { content } = await server.callTool({ name: "echo", arguments: { message: "hi" } });
      const before = Date.now();
      process.on("exit", () => console.log(content[0].text, Date.now() - before < 2000));
    }, 300);`;
  const run = startProcess(process.execPath, ["--input-type=module", "--eval", program]);
  expect(await run.ended).toBe(0);
  expect(run).toMatchObject({ stdout: "Echo: hi true\n", stderr: "" });
});
