// The leanest tool server that both sides can be measured on: node raw-tool-server.js <http|stdio>
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serveUntilLetGo } from "./serving-process.js";

interface Request {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: { readonly arguments?: { readonly text?: string }; readonly protocolVersion?: string };
}

function responseTo({ id, method, params }: Request): string | undefined {
  if (id === undefined) return undefined;
  const result = resultOf(method, params);
  const error = { code: -32_601, message: "Method not found" };
  return JSON.stringify(result === undefined ? { jsonrpc: "2.0", id, error } : { jsonrpc: "2.0", id, result });
}

function resultOf(method: string, params: Request["params"]): object | undefined {
  switch (method) {
    case "initialize":
      return {
        // All of the older era are the same to it.
        protocolVersion: params?.protocolVersion ?? "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "raw", version: "1.0.0" },
      };
    case "tools/list":
      return { tools: [{ name: "echo", inputSchema: { type: "object", properties: { text: { type: "string" } } } }] };
    case "tools/call":
      return { content: [{ type: "text", text: params?.arguments?.text ?? "" }] };
    case "ping":
      return {};
    default:
      return undefined;
  }
}

function serveHttp(): void {
  const server = createServer((request, response) => {
    if (request.method !== "POST") {
      response.writeHead(405).end();
      return;
    }
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (chunk: string) => {
      body += chunk;
    });
    request.on("end", () => {
      const text = responseTo(JSON.parse(body));
      if (text === undefined) response.writeHead(202).end();
      else response.writeHead(200, { "content-type": "application/json" }).end(text);
    });
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1", () => {
    serveUntilLetGo({ port: (server.address() as AddressInfo).port }, () => process.exit());
  });
}

function serveStdio(): void {
  let rest = "";
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    const responses = lines.flatMap((line) => responseTo(JSON.parse(line)) ?? []);
    if (responses.length > 0) process.stdout.write(`${responses.join("\n")}\n`);
  });
}

if (process.argv[2] === "stdio") serveStdio();
else serveHttp();
