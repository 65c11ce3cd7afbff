import { once } from "node:events";
import { Agent, createServer, type RequestOptions, request, type Server } from "node:http";
import type { Socket } from "node:net";
import { createRegistry } from "@wirescope/channelz";
import { expect, test } from "vitest";
import { portOf } from "../sockets/connections.test.helper.js";
import { observeHttpClients } from "./observe-clients.js";
import { observeHttpServer } from "./observe-server.js";

type Note = (what: string) => void;

function noteEvents(emitter: NodeJS.EventEmitter, names: readonly string[], note: Note): void {
  for (const name of names) emitter.on(name, () => note(name));
  emitter.on("error", (error: Error & { code?: string }) =>
    note(`error ${error.code ?? error.name}: ${error.message}`),
  );
}

/** Writes as much as back-pressure allows: the return values of write() and the drain events show it. */
function writeMuch(to: NodeJS.WritableStream, note: Note): void {
  const chunk = Buffer.alloc(40_000);
  let left = 20;
  const more = (): void => {
    while (left > 0) {
      left -= 1;
      const isRoom = to.write(chunk, (error) => note(`written ${error?.message ?? "well"}`));
      if (isRoom) continue;
      note("full");
      to.once("drain", more);
      return;
    }
    to.end();
  };
  more();
}

const paths: Readonly<Record<string, RequestOptions>> = {
  "/plain": {},
  "/post": { method: "POST" },
  "/large": { method: "POST" },
  "/head": { method: "HEAD" },
  "/expect": { method: "POST", headers: { expect: "100-continue" } },
  "/late": {},
  "/destroyed": {},
  "/hang": {},
  "/aborted": { signal: AbortSignal.abort() },
  "/close": { headers: { connection: "close" } },
  "/after": {},
};

/** Everything that an application can see of varied traffic, as text, by observer. */
async function whatTheApplicationSees(observe: (server: Server) => () => void): Promise<Record<string, string[]>> {
  const seen: Record<string, string[]> = {};
  const noteOf =
    (who: string): Note =>
    (what) => {
      seen[who] ??= [];
      seen[who].push(what);
    };
  const server = createServer((incoming, response) => {
    const path = incoming.url!;
    const note = noteOf(`response ${path}`);
    noteEvents(incoming, ["end", "close", "aborted"], noteOf(`request ${path}`));
    noteEvents(response, ["finish", "prefinish", "close", "drain"], note);
    note(`listeners ${response.eventNames().map((name) => `${String(name)} ${response.listenerCount(name)}`)}`);
    note(`keys ${Object.keys(response).join()}`);
    incoming.on("data", () => {});
    if (path === "/destroyed") response.write("half", () => response.destroy());
    else if (path === "/hang") response.write("half");
    else if (path === "/large") writeMuch(response, note);
    else if (path === "/late") {
      response.end("response");
      response.write("too late", (error) => note(`refused ${error?.message}`));
    } else response.writeHead(200, { "x-path": path }).end("response", () => note("ended"));
  });
  const noteServer = noteOf("server");
  noteEvents(server, ["connection", "close", "dropRequest"], noteServer);
  server.on("upgrade", (_request, socket: Socket) =>
    socket.end("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nhello"),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = observe(server);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (const [path, options] of Object.entries(paths)) {
    const note = noteOf(`client ${path}`);
    const clientRequest = request({ host: "127.0.0.1", port: portOf(server), agent, path, ...options });
    noteEvents(clientRequest, ["socket", "finish", "prefinish", "continue", "abort", "close", "drain"], note);
    clientRequest.on("response", (response) => {
      note(`response ${response.statusCode} ${response.headers["x-path"]} reused ${clientRequest.reusedSocket}`);
      noteEvents(response, ["end", "close", "aborted"], note);
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (path === "/hang") clientRequest.destroy(new Error("enough"));
      });
      response.on("close", () => note(`read ${bytes}, complete ${response.complete}`));
    });
    clientRequest.on("socket", (socket) => {
      const names = ["data", "end", "error", "timeout", "free", "drain", "agentRemove"];
      note(`socket listeners ${names.map((name) => socket.listenerCount(name))}`);
    });
    if (path === "/large") writeMuch(clientRequest, note);
    else clientRequest.end(options.method === "POST" ? "question" : undefined);
    await new Promise((resolve) => clientRequest.on("close", resolve));
  }
  const upgrading = request({
    host: "127.0.0.1",
    port: portOf(server),
    agent,
    headers: { connection: "upgrade", upgrade: "x" },
  });
  const note = noteOf("client upgrade");
  noteEvents(upgrading, ["socket", "finish", "close"], note);
  upgrading.end();
  const [, socket] = (await once(upgrading, "upgrade")) as [unknown, Socket];
  noteEvents(socket, ["end", "close"], note);
  socket.resume();
  socket.end();
  await once(socket, "close");
  agent.destroy();
  stop();
  server.close();
  await once(server, "close");
  return seen;
}

test("delivers the same events, errors and back-pressure to an application with and without the instrument", async () => {
  const plain = await whatTheApplicationSees(() => () => {});
  const registry = createRegistry();
  const observed = await whatTheApplicationSees((server) => {
    observeHttpServer(registry, server);
    const clients = observeHttpClients(registry);
    return () => clients.stop();
  });
  expect(observed).toEqual(plain);
  expect(Object.keys(plain).length).toBeGreaterThan(30);
  // Patched, but not observed.
  expect(await whatTheApplicationSees(() => () => {})).toEqual(plain);
});
