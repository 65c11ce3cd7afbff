import { Agent, type Server as HttpServer, request } from "node:http";
import {
  type ChannelzListener,
  createRegistry,
  type Fallback,
  type ListenObserver,
  listenChannelz,
  type PostHandler,
  type Registry,
  type ServerHandle,
} from "@wirescope/channelz";
import { describe, expect, onTestFinished, test } from "vitest";
import { stopObserving } from "../observation.js";
import { callsOf, eventually, type Outcomes, streamsOf, traceOf } from "./both-ends.test.helper.js";
import { observeHttpServer, observePosts } from "./observe-server.js";

/** What is answered with, by either way. */
interface Answer {
  readonly writableLength: number;
  writeHead(status: number): unknown;
  write(text: string): unknown;
  end(text?: string): unknown;
}

/** A listener that shows itself, as that of the gateway does. */
interface Observed {
  readonly registry: Registry;
  readonly listener: ChannelzListener;
  readonly http1: HttpServer;
  readonly handle: ServerHandle;
  /** Which way each post took. */
  readonly ways: string[];
  /** Answers that are due. */
  readonly held: Answer[];
}

async function listen(hasPosts = true): Promise<Observed> {
  const registry = createRegistry();
  const [ways, held]: [string[], Answer[]] = [[], []];
  let http1: HttpServer | undefined;
  let handle: ServerHandle | undefined;
  const observer: ListenObserver = {
    onHttp1Server(server) {
      http1 = server;
      handle = observeHttpServer(registry, server, { name: "first" });
    },
    onPosts: (socket) => http1 && observePosts(http1, socket),
  };
  const fallback: Fallback = async (message, response) => {
    let body = "";
    for await (const chunk of message) body += chunk;
    ways.push("node");
    answer(body, response as Answer, held);
  };
  const quick: PostHandler = ({ body }, response) => {
    ways.push("quick");
    answer(body, response, held);
  };
  const posts = hasPosts ? { "/mcp": quick } : {};
  const listener = await listenChannelz(registry, { port: 0, fallback, posts, observer });
  onTestFinished(() => listener.close());
  return { registry, listener, http1: http1!, handle: handle!, ways, held };
}

/** Answers as the body says: with a status, in parts, with much, later, or with itself. */
function answer(body: string, response: Answer, held: Answer[]): void {
  if (body === "hold") held.push(response);
  else if (body === "parts") {
    response.writeHead(200);
    for (const part of ["one", "two", "three"]) response.write(part);
    response.end();
  } else if (body === "begin") {
    response.writeHead(200);
    response.write("only the beginning");
    held.push(response);
  } else if (body === "much") {
    response.writeHead(200);
    response.end("x".repeat(8_000_000));
    held.push(response);
  } else if (/^\d+$/.test(body)) {
    response.writeHead(Number(body));
    response.end("why");
  } else {
    response.writeHead(body === "" ? 202 : 200);
    response.end(body);
  }
}

/** Somebody who asks over one connection. */
interface Caller {
  /** The status and the body of the answer. */
  ask(method: "POST" | "GET", body?: string): Promise<string>;
  /** What has come of the last answer. */
  heard(): string;
  leave(): void;
}

function callerOf({ listener }: Observed): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  let text = "";
  const ask: Caller["ask"] = (method, body = "") =>
    new Promise((resolve, reject) => {
      const headers = method === "POST" ? { "content-length": Buffer.byteLength(body) } : {};
      const asked = request(new URL("/mcp", listener.url), { agent, method, headers }, (response) => {
        text = `${response.statusCode} `;
        response.on("error", reject);
        // So much that it does not go out before somebody takes it.
        if (body === "much") return;
        response.on("data", (chunk) => {
          text += chunk;
        });
        response.on("end", () => resolve(text));
      });
      asked.on("error", reject);
      asked.end(body);
    });
  return { ask, heard: () => text, leave: () => agent.destroy() };
}

/** What the registry says of one server and its sockets. */
interface Told {
  readonly calls: Outcomes;
  readonly sockets: readonly {
    readonly streams: Outcomes;
    readonly messages: readonly [received: number, sent: number];
  }[];
}

async function socketIds(registry: Registry, serverId: bigint): Promise<bigint[]> {
  return (await registry.getServerSockets(serverId)).socketRef.map(({ socketId }) => socketId);
}

/** The last server, and those of its sockets that are asked for; else all that are open. */
async function told(registry: Registry, ids?: readonly bigint[]): Promise<Told> {
  const server = (await registry.getServers()).server.at(-1)!;
  const sockets = await Promise.all(
    (ids ?? (await socketIds(registry, server.ref!.serverId))).map(async (id) => {
      const socket = (await registry.getSocket(id)).socket!;
      const { messagesReceived, messagesSent } = socket.data!;
      const messages: [number, number] = [Number(messagesReceived), Number(messagesSent)];
      return { streams: streamsOf(socket), messages };
    }),
  );
  return { calls: callsOf(server), sockets };
}

async function tells(registry: Registry, expected: Told, ids?: readonly bigint[]): Promise<void> {
  await eventually(async () => expect(await told(registry, ids)).toEqual(expected));
}

async function openSockets(registry: Registry): Promise<bigint[]> {
  return socketIds(registry, (await registry.getServers()).server.at(-1)!.ref!.serverId);
}

const one = (calls: Outcomes, streams: Outcomes, messages: [number, number]): Told => ({
  calls,
  sockets: [{ streams, messages }],
});

describe("a post that does not pass Node's server", () => {
  test.each<[string, string, string, Told]>([
    ["is answered", "hello", "200 hello", one([1, 1, 0], [1, 1, 0], [1, 1])],
    ["is answered in parts, which are one message", "parts", "200 onetwothree", one([1, 1, 0], [1, 1, 0], [1, 1])],
    ["is empty, and so is its answer: neither is a message", "", "202 ", one([1, 1, 0], [1, 1, 0], [0, 0])],
    ["is refused: the call failed, the stream did not", "400", "400 why", one([1, 0, 1], [1, 1, 0], [1, 1])],
    ["is redirected", "307", "307 why", one([1, 1, 0], [1, 1, 0], [1, 1])],
    ["breaks the server", "500", "500 why", one([1, 0, 1], [1, 1, 0], [1, 1])],
  ])("[CZ-SOCKET-6] is a call and a stream: one that %s", async (_, body, text, expected) => {
    for (const hasPosts of [true, false]) {
      const observed = await listen(hasPosts);
      expect(await callerOf(observed).ask("POST", body)).toBe(text);
      await tells(observed.registry, expected);
      expect(observed.ways).toEqual([hasPosts ? "quick" : "node"]);
    }
  });

  test("shows while it is under way", async () => {
    const observed = await listen();
    const { ask } = callerOf(observed);
    const asked = ask("POST", "hold");
    await eventually(() => expect(observed.held).toHaveLength(1));
    await tells(observed.registry, one([1, 0, 0], [1, 0, 0], [1, 0]));
    observed.held[0]!.end("at last");
    expect(await asked).toBe("200 at last");
    await tells(observed.registry, one([1, 1, 0], [1, 1, 0], [1, 1]));
    await ask("POST", "again");
    await tells(observed.registry, one([2, 2, 0], [2, 2, 0], [2, 2]));
    expect(observed.ways).toEqual(["quick", "quick"]);
  });

  test.each(["hold", "begin", "much"])(
    "[CZ-SOCKET-7] fails where its caller goes away before its answer is out (%s)",
    async (body) => {
      for (const hasPosts of [true, false]) {
        const observed = await listen(hasPosts);
        const { registry, held } = observed;
        const { ask, leave } = callerOf(observed);
        await ask("POST", "first");
        const ids = await openSockets(registry);
        const asked = ask("POST", body).catch(() => "gone");
        await eventually(() => expect(held).toHaveLength(1));
        leave();
        expect(await asked).toBe("gone");
        // Whatever it is answered with now is no answer.
        await eventually(async () => expect(await openSockets(registry)).toEqual([]));
        held[0]!.end("too late");
        await tells(registry, one([2, 1, 1], [2, 1, 1], [2, 1]), ids);
        expect(observed.ways[1]).toBe(hasPosts ? "quick" : "node");
      }
    },
  );

  test("counts as the same traffic through Node does, over several connections that come and go", async () => {
    const bodies = ["a", "", "400", "parts", "hold", "404", "b", "begin", "500", "ä€😀", "parts", "hold", ""];
    const counted: unknown[] = [];
    for (const hasPosts of [true, false]) {
      const observed = await listen(hasPosts);
      const { registry, held } = observed;
      const said: string[] = [];
      let caller = callerOf(observed);
      const all: bigint[] = [];
      for (const body of bodies) {
        const asked = caller.ask("POST", body).catch(() => "gone");
        if (body === "hold" || body === "begin") {
          await eventually(() => expect(held).toHaveLength(1));
          held.pop();
          // What it has not read would be lost, and the connection reset.
          if (body === "begin") await eventually(() => expect(caller.heard()).toContain("beginning"));
          all.push(...(await openSockets(registry)));
          caller.leave();
          caller = callerOf(observed);
        }
        said.push(await asked);
        if (said.at(-1) === "gone") await eventually(async () => expect(await openSockets(registry)).toEqual([]));
      }
      all.push(...(await openSockets(registry)));
      await tells(registry, { ...(await told(registry, all)), calls: [13, 7, 6] }, all);
      counted.push([said, await told(registry, all), traceOf((await registry.getServers()).server[0]!)]);
      expect(new Set(observed.ways)).toEqual(new Set([hasPosts ? "quick" : "node"]));
    }
    expect(counted[0]).toEqual(counted[1]);
  });
});

describe("a connection whose posts do not pass Node's server", () => {
  test("is one and the same socket after it was handed to it", async () => {
    const observed = await listen();
    const { registry } = observed;
    const { ask } = callerOf(observed);
    await ask("POST", "a");
    await ask("POST", "400");
    const before = await openSockets(registry);
    expect(await ask("GET")).toBe("202 ");
    await ask("POST", "b");
    await tells(registry, one([4, 3, 1], [4, 4, 0], [3, 3]));
    expect(await openSockets(registry)).toEqual(before);
    expect(observed.ways).toEqual(["quick", "quick", "node", "node"]);
  });

  test("that is no longer observed is left alone, before and after it is handed over", async () => {
    const observed = await listen();
    const { registry, http1 } = observed;
    const { ask } = callerOf(observed);
    await ask("POST", "a");
    const ids = await openSockets(registry);
    const held = ask("POST", "hold");
    await eventually(() => expect(observed.held).toHaveLength(1));
    stopObserving(http1);
    expect((await registry.getServers()).server).toEqual([]);
    observed.held[0]!.end("x");
    expect([await held, await ask("POST", "b"), await ask("GET")]).toEqual(["200 x", "200 b", "202 "]);
    // What was under way is counted to its end, and nothing after it.
    const { socket } = await registry.getSocket(ids[0]!);
    expect(streamsOf(socket!)).toEqual([2, 2, 0]);
    expect((await registry.getServers()).server).toEqual([]);
  });

  test("shows with its next post where the server is observed anew, under the new one", async () => {
    const observed = await listen();
    const { registry, http1 } = observed;
    const { ask } = callerOf(observed);
    await ask("POST", "a");
    const [old] = await openSockets(registry);
    stopObserving(http1);
    await ask("POST", "unseen");
    observeHttpServer(registry, http1, { name: "second" });
    await tells(registry, { calls: [0, 0, 0], sockets: [] });
    await ask("POST", "b");
    await ask("POST", "404");
    await tells(registry, one([2, 1, 1], [2, 2, 0], [2, 2]));
    const [current] = await openSockets(registry);
    expect(current).not.toBe(old);
    await ask("GET");
    await tells(registry, one([3, 2, 1], [3, 3, 0], [2, 2]));
    expect(await openSockets(registry)).toEqual([current]);
    expect(streamsOf((await registry.getSocket(old!)).socket!)).toEqual([1, 1, 0]);
    expect(observed.ways).toEqual(["quick", "quick", "quick", "quick", "node"]);
  });

  test("shows also where it came while nothing was observed", async () => {
    const observed = await listen();
    const { registry, http1 } = observed;
    stopObserving(http1);
    const { ask } = callerOf(observed);
    await ask("POST", "unseen");
    observeHttpServer(registry, http1);
    await ask("POST", "b");
    await tells(registry, one([1, 1, 0], [1, 1, 0], [1, 1]));
    expect(observed.ways).toEqual(["quick", "quick"]);
  });

  test("is answered as before where the application closed the server's handle", async () => {
    const observed = await listen();
    observed.handle.close("enough");
    const { ask } = callerOf(observed);
    expect([await ask("POST", "a"), await ask("POST", "b"), await ask("GET")]).toEqual(["200 a", "200 b", "202 "]);
    expect((await observed.registry.getServers()).server).toEqual([]);
  });
});
