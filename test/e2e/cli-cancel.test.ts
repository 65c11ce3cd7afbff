import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { WebSocketServer } from "ws";
import { createUserFolder, runCommand, startCommand, type UserFolder } from "./command.test.helper.js";
import { endOf } from "./running-process.test.helper.js";

const pollOptions = { timeout: 60_000, interval: 20 };

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly requestId?: number };
}

/** A server whose one tool, `wait`, never responds. */
interface WaitingServer {
  readonly entry: object;
  /** What it received, in order. */
  received(): readonly Message[];
}

/** The response to a message; undefined if there is none. */
function respond({ id, method }: Message): string | undefined {
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "waiting", version: "1" },
    },
    "tools/list": { tools: [{ name: "wait", inputSchema: { type: "object" } }] },
  };
  if (id === undefined || method === "tools/call") return undefined;
  const result = results[method];
  const error = { code: -32601, message: "Method not found" };
  return JSON.stringify({ jsonrpc: "2.0", id, ...(result === undefined ? { error } : { result }) });
}

async function listen(
  onMessage: (message: Message, response: ServerResponse) => void,
  onGet: (response: ServerResponse) => void,
) {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (request.method === "POST") onMessage(JSON.parse(Buffer.concat(chunks).toString()), response);
      else onGet(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, host: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const waitingServers: Readonly<Record<string, (user: UserFolder) => Promise<WaitingServer>>> = {
  async stdio({ folder }) {
    const [script, log] = [join(folder, "server.cjs"), join(folder, "received.jsonl")];
    writeFileSync(
      script,
      `const respond = ${respond.toString()};
      require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        require("node:fs").appendFileSync(${JSON.stringify(log)}, line + "\\n");
        const response = respond(JSON.parse(line));
        if (response !== undefined) process.stdout.write(response + "\\n");
      });`,
    );
    return {
      entry: { command: process.execPath, args: [script] },
      received: () =>
        existsSync(log)
          ? readFileSync(log, "utf8")
              .split("\n")
              .filter(Boolean)
              .map((line) => JSON.parse(line))
          : [],
    };
  },
  async http() {
    const received: Message[] = [];
    const { host } = await listen(
      (message, response) => {
        received.push(message);
        const text = respond(message);
        if (text !== undefined) response.writeHead(200, { "content-type": "application/json" }).end(text);
        else if (message.id === undefined) response.writeHead(202).end();
      },
      (response) => response.writeHead(405).end(),
    );
    return { entry: { type: "http", url: `http://${host}/mcp` }, received: () => received };
  },
  async sse() {
    const received: Message[] = [];
    let stream: ServerResponse | undefined;
    const { host } = await listen(
      (message, response) => {
        received.push(message);
        response.writeHead(202).end();
        const text = respond(message);
        if (text !== undefined) stream?.write(`event: message\ndata: ${text}\n\n`);
      },
      (response) => {
        stream = response;
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write("event: endpoint\ndata: /messages\n\n");
      },
    );
    return { entry: { type: "sse", url: `http://${host}/sse` }, received: () => received };
  },
  async ws() {
    const received: Message[] = [];
    const { server, host } = await listen(
      () => {},
      () => {},
    );
    new WebSocketServer({ server }).on("connection", (socket) => {
      socket.on("message", (data) => {
        const message: Message = JSON.parse(String(data));
        received.push(message);
        const text = respond(message);
        if (text !== undefined) socket.send(text);
      });
    });
    return { entry: { type: "ws", url: `ws://${host}/mcp` }, received: () => received };
  },
};

/** Creates the server, and the arguments of a call of its tool. */
async function prepareCall(start: (typeof waitingServers)[string]) {
  const user = createUserFolder();
  const server = await start(user);
  const config = user.configure({ waiting: server.entry });
  const argv = ["call", "waiting", "wait", "--config", config, "--allow-insecure-loopback", "--trust"];
  return { server, argv, env: { PATH: process.env.PATH ?? "", HOME: user.home } };
}

const isCall = ({ method }: Message): boolean => method === "tools/call";

async function expectCancelled({ received }: WaitingServer): Promise<void> {
  const cancelled = (): unknown[] =>
    received()
      .filter(({ method }) => method === "notifications/cancelled")
      .map(({ params }) => params?.requestId);
  await expect.poll(cancelled, pollOptions).toEqual([received().find(isCall)?.id]);
}

test("cancels calls over every transport at the server when --timeout ends them", async () => {
  const ended = Object.entries(waitingServers).map(async ([transport, start]) => {
    const { server, argv, env } = await prepareCall(start);
    const run = await runCommand([...argv, "--timeout", "10s"], { env });
    expect(run, transport).toMatchObject({ code: 1, stderr: expect.stringContaining("for 10 s") });
    await expectCancelled(server);
  });
  await Promise.all(ended);
});

test.each(Object.entries(waitingServers))(
  "cancels a call over %s at the server when Ctrl-C ends it",
  async (_, start) => {
    const { server, argv, env } = await prepareCall(start);
    const run = startCommand(argv, { env });
    await expect.poll(() => server.received().some(isCall), pollOptions).toBe(true);
    run.process.kill("SIGINT");
    expect(await endOf(run)).toMatchObject({ code: 130, stderr: "wirescope: The call of wait was interrupted.\n" });
    await expectCancelled(server);
  },
);
