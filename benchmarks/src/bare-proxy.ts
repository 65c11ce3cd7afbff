// The least that a proxy from HTTP to a stdio server can do: node bare-proxy.js <port> <program> [argument...]
// Without sessions, limits, a token or counters. Requests must have different ids.
import { spawn } from "node:child_process";
import { createServer, type ServerResponse } from "node:http";

const [port, program, ...args] = process.argv.slice(2);
const server = spawn(program!, args, { stdio: ["pipe", "pipe", "ignore"] });
const waiting = new Map<unknown, ServerResponse>();

let rest = "";
server.stdout.setEncoding("utf8");
server.stdout.on("data", (chunk: string) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) {
    const message = JSON.parse(line);
    const response = waiting.get(message.id);
    waiting.delete(message.id);
    response?.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(message));
  }
});

createServer((request, response) => {
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (chunk: string) => {
    body += chunk;
  });
  request.on("end", () => {
    if (request.method !== "POST") {
      response.writeHead(405).end();
      return;
    }
    const message = JSON.parse(body);
    server.stdin.write(`${JSON.stringify(message)}\n`);
    if (message.id === undefined) response.writeHead(202).end();
    else waiting.set(message.id, response);
  });
}).listen(Number(port), "127.0.0.1");

process.on("SIGTERM", () => {
  server.kill();
  process.exit();
});
