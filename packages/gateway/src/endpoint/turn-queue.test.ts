import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { pollOptions, startTestGateway, type TestGateway } from "../gateway.test.helper.js";
import { createTurnQueue } from "./turn-queue.js";

/** A connection that the gateway may not have accepted yet. */
async function open({ url }: TestGateway): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return socket.resume();
}

/** Counts the connections that servers of this process accept. */
function countAccepted(onAccepted: (count: number) => void = () => {}): () => number {
  let count = 0;
  const listener = (): void => onAccepted(++count);
  subscribe("net.server.socket", listener);
  onTestFinished(() => void unsubscribe("net.server.socket", listener));
  return () => count;
}

function requestOf({ token }: TestGateway, body: object): string {
  const text = JSON.stringify(body);
  const lines = Object.entries({
    host: "localhost",
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "content-length": text.length,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /mcp HTTP/1.1\r\n${lines.join("")}\r\n${text}`;
}

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "busy", version: "1" } },
};

test("accepts new connections while many requests on others are waiting", async () => {
  let opened = 0;
  const gateway = await startTestGateway(
    {},
    {
      onEvent({ kind }) {
        if (kind !== "session-opened") return;
        opened += 1;
      },
    },
  );
  let openedBefore: number | undefined;
  const accepted = countAccepted((count) => {
    if (count === 210) openedBefore = opened;
  });
  const busy = await Promise.all(Array.from({ length: 200 }, () => open(gateway)));
  await expect.poll(accepted, pollOptions).toBe(200);
  for (const socket of busy) socket.write(requestOf(gateway, initialize));
  await Promise.all(Array.from({ length: 10 }, () => open(gateway)));
  await expect.poll(() => opened, pollOptions).toBe(200);
  await expect.poll(() => openedBefore, pollOptions).toBeLessThan(200);
});

test("creates no session for a client that disconnects while its initialize waits", async () => {
  let opened = 0;
  let leave = (): void => {};
  const gateway = await startTestGateway(
    {},
    {
      onEvent({ kind }) {
        if (kind !== "session-opened") return;
        opened += 1;
        leave();
      },
    },
  );
  const accepted = countAccepted();
  const sockets = await Promise.all(Array.from({ length: 100 }, () => open(gateway)));
  const [leaving, last] = sockets.slice(-2) as [Socket, Socket];
  leave = () => void leaving.destroy();
  await expect.poll(accepted, pollOptions).toBe(100);
  for (const socket of sockets) socket.write(requestOf(gateway, initialize));
  await once(last, "data");
  expect(opened).toBe(99);
});

test("starts a request that is added while others wait after them, and loses none", async () => {
  const turns = createTurnQueue(2);
  const order: string[] = [];
  const run = (name: string): boolean => {
    const turn = turns.enter();
    if (turn === undefined) order.push(name);
    else void turn.then(() => order.push(name));
    return turn === undefined;
  };
  expect([..."abcdefg"].map(run)).toEqual([true, true, false, false, false, false, false]);
  expect(order.join("")).toBe("ab");
  setImmediate(() => run("h"));
  await expect.poll(() => order.join(""), pollOptions).toBe("abcdefgh");
  run("i");
  expect(order.join("")).toBe("abcdefghi");
});

test("starts no more requests in one turn than the maximum, whether they waited or not", async () => {
  const turns = createTurnQueue(2);
  let started = 0;
  const enter = (): void => {
    const turn = turns.enter();
    const start = (): void => {
      started += 1;
    };
    if (turn === undefined) start();
    else void turn.then(start);
  };
  for (let count = 0; count < 7; count += 1) enter();
  const perTurn: number[] = [];
  // Runs after the other immediates of each turn.
  const endTurn = (): void => {
    perTurn.push(started);
    if (perTurn.length < 5) setImmediate(endTurn);
  };
  setImmediate(endTurn);
  await expect.poll(() => perTurn, pollOptions).toEqual([2, 4, 6, 7, 7]);
});
