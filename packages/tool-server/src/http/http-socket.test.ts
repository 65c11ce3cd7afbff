import { once } from "node:events";
import { connect, type Socket, type TcpNetConnectOpts } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createTestContext } from "../transports/transport-context.test.helper.js";
import { waiting } from "../waiting.test.helper.js";
import { SocketClosed } from "./answer-defect.js";
import { connectDirect } from "./direct-socket.js";
import { startRawServer } from "./hostile-http-server.test.helper.js";
import { HttpSocket, type SocketUser } from "./http-socket.js";
import { requestHead } from "./request-head.js";
import { createSocketPool } from "./socket-pool.js";
import { openWire } from "./socket-wire.js";

const head = requestHead({ method: "GET", headers: {} }, "a.test", "/");
const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/** Somebody who writes down what is heard. */
interface Listener extends SocketUser {
  readonly told: string[];
  /** What broke it. */
  error: Error | undefined;
}

function listener(changes: Partial<SocketUser> = {}): Listener {
  const told: string[] = [];
  const user: Listener = {
    told,
    error: undefined,
    onWriting: () => true,
    onHead: ({ status }) => void told.push(`${status}`),
    onBody: (piece) => told.push(piece.toString()) > 0,
    onComplete: () => void told.push("end"),
    onError(error) {
      told.push("error");
      user.error = error;
    },
    ...changes,
  };
  return user;
}

/** How a socket is made; one behind TLS or a proxy is as Node's are. */
type Connect = (options: TcpNetConnectOpts) => Socket;
const connects: [string, Connect][] = [
  ["of Node", connect],
  ["that is direct", connectDirect],
];

/** A socket, its other end, and what came there. */
async function connectBare(make: Connect): Promise<{ bare: Socket; server: Socket; seen: () => string }> {
  const accepted: Socket[] = [];
  let seen = "";
  const { port } = await startRawServer((peer) => {
    accepted.push(peer);
    peer.on("data", (bytes) => {
      seen += bytes;
    });
  });
  const bare = make({ host: "localhost", port });
  await once(bare, "connect");
  await vi.waitFor(() => expect(accepted).toHaveLength(1), waiting);
  onTestFinished(() => void bare.destroy());
  return { bare, server: accepted[0] as Socket, seen: () => seen };
}

/** A socket of ours, with how often it was idle: each time, whether it had been used. */
async function join(
  make: Connect,
): Promise<Awaited<ReturnType<typeof connectBare>> & { socket: HttpSocket; idle: boolean[] }> {
  const joined = await connectBare(make);
  const idle: boolean[] = [];
  const wire = openWire(joined.bare, createTestContext("http").facts, "a.test:80", (text) => text);
  const socket = new HttpSocket(wire, "http://a.test", (_, wasUsed) => idle.push(wasUsed));
  return { ...joined, socket, idle };
}

/** One that answered a request, and is idle. */
async function joinIdle(make: Connect): Promise<Awaited<ReturnType<typeof join>>> {
  const joined = await join(make);
  const user = listener();
  joined.socket.send(head, undefined, user);
  joined.server.write(answer);
  await vi.waitFor(() => expect(user.told).toEqual(["200", "ok", "end"]), waiting);
  await vi.waitFor(() => expect(joined.seen()).toBe(`${head.text}\r\n`), waiting);
  return joined;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe.each(connects)("a request on a socket %s that was idle", (_, make) => {
  test.each([
    ["gets data", "data", (server: Socket) => server.write(answer)],
    ["gets a byte", "data", (server: Socket) => server.write("\n")],
    ["gets its end", "end", (server: Socket) => server.end()],
    ["is reset", "error", (server: Socket) => server.resetAndDestroy()],
  ])("[TS-D-HTTP-3] which %s before it is written is not written, and hears so", async (__, event, speak) => {
    const { socket, bare, server, seen, idle } = await joinIdle(make);
    const user = listener({ onWriting: () => user.told.push("written") > 0 });
    // At the last moment: others hear of it after this.
    bare.prependOnceListener(event, () => socket.send(head, undefined, user));
    speak(server);
    await vi.waitFor(() => expect(user.told).toEqual(["error"]), waiting);
    const { code } = user.error as NodeJS.ErrnoException;
    expect(user.error instanceof SocketClosed || code === "ECONNRESET").toBe(true);
    await turn();
    expect([socket.isGone, idle.length, user.told.length]).toEqual([true, 1, 1]);
    expect(seen()).toBe(`${head.text}\r\n`);
  });

  test("that is not wanted any more is not written, and leaves the socket to others as it was", async () => {
    const { socket, seen, idle, server } = await joinIdle(make);
    socket.send(head, undefined, listener({ onWriting: () => false }));
    await vi.waitFor(() => expect(idle).toEqual([true, false]), waiting);
    const user = listener();
    socket.send(head, undefined, user);
    await vi.waitFor(() => expect(seen()).toBe(`${head.text}\r\n`.repeat(2)), waiting);
    server.write(answer);
    await vi.waitFor(() => expect(user.told).toEqual(["200", "ok", "end"]), waiting);
    expect(idle).toEqual([true, false, true]);
  });
});

describe.each(connects)("a socket %s", (_, make) => {
  test("on which a request is called off in the middle of a piece is not used again, though the answer is whole", async () => {
    const { socket, server, idle } = await join(make);
    const user = listener({
      onBody() {
        socket.abort(new Error("aborted"), "A request on it was called off.");
        return true;
      },
    });
    socket.send(head, undefined, user);
    server.write(answer);
    await vi.waitFor(() => expect(user.told).toEqual(["200", "error"]), waiting);
    await socket.wire.closed;
    expect([socket.isGone, idle]).toEqual([true, []]);
  });

  test("whose reader is busy waits, and goes on where it is asked to; the next request finds it awake", async () => {
    const { socket, server, idle, bare } = await join(make);
    const user = listener({ onBody: (piece) => user.told.push(piece.toString()) > 1000 });
    socket.send(head, undefined, user);
    server.write("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na");
    await vi.waitFor(() => expect(user.told).toEqual(["200", "a"]), waiting);
    expect(bare.isPaused()).toBe(true);
    server.write("b");
    await turn();
    expect(user.told).toEqual(["200", "a"]);
    socket.resume();
    await vi.waitFor(() => expect(user.told).toEqual(["200", "a", "b"]), waiting);
    expect(bare.isPaused()).toBe(true);
    server.write("c");
    socket.resume();
    await vi.waitFor(() => expect(user.told).toEqual(["200", "a", "b", "c", "end"]), waiting);
    expect([bare.isPaused(), idle]).toEqual([false, [true]]);
    const next = listener({ onWriting: () => server.write(answer) });
    socket.send(head, undefined, next);
    await vi.waitFor(() => expect(next.told).toEqual(["200", "ok", "end"]), waiting);
  });

  test("hears of what was said before it was listened to, when a request is written already", async () => {
    const { bare, server } = await connectBare(make);
    await new Promise<void>((resolve) => server.write("220 mail.example.com\r\n", () => resolve()));
    // So that it has arrived, as far as one can know that without reading.
    for (let turns = 0; turns < 20; turns += 1) await turn();
    const wire = openWire(bare, createTestContext("http").facts, "a.test:80", (text) => text);
    const user = listener();
    new HttpSocket(wire, "http://a.test", () => {}).send(head, undefined, user);
    await vi.waitFor(() => expect(user.told).toEqual(["error"]), waiting);
    expect(String(user.error)).toBe("AnswerDefect: The answer does not begin as one of HTTP/1.1 does.");
  });

  test("has no more listeners after many requests than after one", async () => {
    const { socket, server, bare } = await joinIdle(make);
    const count = (): number => bare.eventNames().reduce((sum, name) => sum + bare.listenerCount(name), 0);
    const before = count();
    for (let round = 0; round < 20; round += 1) {
      const user = listener({ onWriting: () => server.write(answer) });
      socket.send(head, undefined, user);
      await vi.waitFor(() => expect(user.told).toContain("end"), waiting);
    }
    expect(count()).toBe(before);
  });

  test("tells of a defect once, and quotes nothing of it", async () => {
    const { socket, server, idle } = await join(make);
    const user = listener();
    socket.send(head, undefined, user);
    server.write("HTTP/1.1 200 OK\r\ns3cr3t\r\n\r\n".repeat(3));
    await socket.wire.closed;
    expect([user.told, idle]).toEqual([["error"], []]);
    expect(String(user.error)).toBe("AnswerDefect: A header is not of the form that headers have.");
  });
});

describe("the time for which a pool keeps a socket", () => {
  const pooled = async (keepAlive: string): Promise<{ socket: HttpSocket; keptMs: () => number }> => {
    const { bare, server } = await connectBare(connectDirect);
    const { facts } = createTestContext("http");
    const pool = createSocketPool(4000, (text) => text);
    const socket = pool.add(bare, { origin: "http://a.test", remoteName: "a.test:80", transport: facts });
    const user = listener();
    socket.send(head, undefined, user);
    server.write(answer.replace("\r\n", `\r\nKeep-Alive: ${keepAlive}\r\n`));
    await vi.waitFor(() => expect(user.told).toContain("end"), waiting);
    expect(pool.take("http://a.test", facts)).toBe(socket);
    return { socket, keptMs: () => socket.idleUntil - performance.now() };
  };

  test.each([
    ["timeout=10", 8000],
    ["timeout=999999", 480_000],
    ["timeout=9999999", 4000],
    ["nonsense", 4000],
  ])("is with %s at most %i ms", async (keepAlive, mostMs) => {
    const { keptMs } = await pooled(keepAlive);
    expect(keptMs()).toBeLessThanOrEqual(mostMs);
    expect(keptMs()).toBeGreaterThan(mostMs / 2 - 2000);
  });

  test("does not begin anew with a request that was not written", async () => {
    const { socket } = await pooled("timeout=10");
    const before = socket.idleUntil;
    const asked = vi.fn(() => false);
    socket.send(head, undefined, listener({ onWriting: asked }));
    await vi.waitFor(() => expect(asked).toHaveBeenCalled(), waiting);
    expect(socket.idleUntil).toBe(before);
  });
});
