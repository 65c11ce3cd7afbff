import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { WebSocketServer } from "ws";

/** A stdio server with the tools `echo` and `get-sum`, as a program for node. */
export const smallServer: string = fileURLToPath(new URL("small-server.mjs", import.meta.url));

/** Its configuration entry. */
export const smallEntry: { readonly command: string; readonly args: readonly string[] } = {
  command: process.execPath,
  args: [smallServer],
};

const { replyTo } = (await import(smallServer)) as { replyTo(message: unknown): string | undefined };

/** The same server over HTTP, in this process until the test ends; returns its url. */
export async function serveSmall(): Promise<string> {
  const origin = await listen(
    createServer(async (request, response) => {
      if (request.method !== "POST") return void response.writeHead(405).end();
      const reply = replyTo(await bodyOf(request));
      if (reply === undefined) response.writeHead(202).end();
      else response.writeHead(200, { "content-type": "application/json" }).end(reply);
    }),
  );
  return `${origin}/mcp`;
}

/** The same over HTTP with SSE. */
export async function serveSmallSse(): Promise<string> {
  let stream: ServerResponse | undefined;
  const origin = await listen(
    createServer(async (request, response) => {
      if (request.method === "GET") {
        stream = response.writeHead(200, { "content-type": "text/event-stream" });
        stream.write("event: endpoint\ndata: /message\n\n");
      } else if (request.url === "/message") {
        const reply = replyTo(await bodyOf(request));
        response.writeHead(202).end();
        if (reply !== undefined) stream?.write(`event: message\ndata: ${reply}\n\n`);
      } else response.writeHead(404).end();
    }),
  );
  return `${origin}/sse`;
}

/** The same over WebSocket. */
export async function serveSmallWs(): Promise<string> {
  const server = createServer();
  new WebSocketServer({ server, handleProtocols: () => "mcp" }).on("connection", (socket) => {
    socket.on("message", (data) => {
      const reply = replyTo(JSON.parse(String(data)));
      if (reply !== undefined) socket.send(reply);
    });
  });
  return `${(await listen(server)).replace("http", "ws")}/message`;
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += chunk;
  return JSON.parse(body);
}

/** Returns the origin. */
async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
