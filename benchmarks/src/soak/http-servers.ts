// Many marking servers over HTTP in one process: node http-servers.js <names of the older era> <names of the newer>
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { freePort } from "../free-port.js";
import { serveParent } from "./child.js";
import { createMarkingServer, type Era, type MarkingServer, type Message } from "./marking-server.js";

interface Running {
  readonly server: Server;
  readonly port: number;
  /** The connections of the older era, by session. */
  readonly sessions: Map<string, MarkingServer>;
}

const [legacy = "", modern = ""] = process.argv.slice(2);
const running = new Map<string, Running>();
for (const name of legacy.split(",").filter(Boolean)) running.set(name, await start(name, "legacy"));
for (const name of modern.split(",").filter(Boolean)) running.set(name, await start(name, "modern"));

async function start(name: string, era: Era): Promise<Running> {
  const sessions = new Map<string, MarkingServer>();
  const server = createServer((request, response) => {
    // What may be used again is let go soon, so that what is open at the end is a leak; and never in the moment of its use.
    response.setHeader("connection", "keep-alive");
    response.setHeader("keep-alive", "timeout=3");
    if (request.method !== "POST") serveOthers(request, response, sessions);
    else
      void readBody(request).then(
        (message) => serve(message, request, response),
        () => response.destroy(),
      );
  });
  server.keepAliveTimeout = 60_000;
  const serve = async (message: Message, request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const connection = connectionOf(name, era, message, request, response, sessions);
    if (connection === undefined) return;
    const { id } = message;
    // In the newer era a client that disconnects cancels; in the older the response would be kept.
    if (era === "modern" && id !== undefined) response.once("close", () => connection.cancel(id));
    const send = (event: object): void => {
      if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`data: ${JSON.stringify(event)}\n\n`);
    };
    const reply = await connection.receive(message, send);
    if (response.destroyed) return;
    if (response.headersSent) {
      if (reply !== undefined) send(reply);
      response.end();
    } else if (reply === undefined) response.writeHead(202).end();
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(reply));
  };
  const port = await freePort();
  await listen(server, port);
  return { server, port, sessions };
}

/** The connection that a message belongs to; undefined if the response that it does not exist has been sent. */
function connectionOf(
  name: string,
  era: Era,
  { method }: Message,
  request: IncomingMessage,
  response: ServerResponse,
  sessions: Map<string, MarkingServer>,
): MarkingServer | undefined {
  if (era === "modern") return createMarkingServer(name, era);
  const given = request.headers["mcp-session-id"];
  const found = typeof given === "string" ? sessions.get(given) : undefined;
  if (found !== undefined) return found;
  if (method === "initialize") {
    const id = randomUUID();
    const made = createMarkingServer(name, era);
    sessions.set(id, made);
    response.setHeader("mcp-session-id", id);
    return made;
  }
  response.writeHead(given === undefined ? 400 : 404).end();
  return undefined;
}

/** The stream of a session, and its end. */
function serveOthers(request: IncomingMessage, response: ServerResponse, sessions: Map<string, MarkingServer>): void {
  const session = String(request.headers["mcp-session-id"]);
  if (!sessions.has(session)) response.writeHead(405).end();
  else if (request.method === "DELETE") {
    sessions.delete(session);
    response.writeHead(200).end();
  } else response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
}

async function readBody(request: IncomingMessage): Promise<Message> {
  let body = "";
  request.setEncoding("utf8");
  for await (const chunk of request) body += chunk;
  return JSON.parse(body) as Message;
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** As if it crashed: all connections break, all sessions are forgotten, and for a while nobody listens. */
async function kill({ name, downMs }: { readonly name: string; readonly downMs: number }): Promise<void> {
  const found = running.get(name);
  if (found === undefined) throw new Error(`There is no server ${name}.`);
  const { server, port, sessions } = found;
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  sessions.clear();
  await closed;
  await new Promise((resolve) => setTimeout(resolve, downMs));
  await listen(server, port);
}

serveParent(
  (question: { kind: "ports" } | { kind: "kill"; name: string; downMs: number }) =>
    question.kind === "ports"
      ? Object.fromEntries([...running].map(([name, { port }]) => [name, port]))
      : kill(question),
  async () => {},
);
