import { once } from "node:events";
import type { Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createRegistry } from "../../registry/registry.js";
import type { NodeRequest, NodeResponse } from "../connect-handler.js";
import { listenChannelz } from "../listen.js";
import { eventually, readToEnd } from "../raw-caller.test.helper.js";
import { call, createWaiting, echo, post, start, told, turns } from "./post-caller.test.helper.js";
import type { PostHandler } from "./post-lane.js";

test("posts are answered past Node's server, one after the other on one connection", async () => {
  const { listener, throughNode, direct } = await start();
  const { socket, answers } = await call(listener, post("one"));
  expect(await answers(1)).toEqual(told("one"));
  socket.write(post("zwölf"));
  expect(await answers(2)).toEqual(told("one", "zwölf"));
  socket.write(post("", "connection: Keep-Alive\r\n"));
  expect(await answers(3)).toEqual(told("one", "zwölf", ""));
  expect([throughNode, direct]).toEqual([[], ["one", "zwölf", ""]]);
  expect(listener.stats()).toMatchObject({ requestsStarted: 3, requestsOpen: 0, connectionsOpen: 1 });
});

test.each([
  ["another method", "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /mcp"],
  ["another path", post("a").replace("/mcp", "/other"), "POST /other"],
  ["a query", post("a").replace("/mcp", "/mcp?a"), "POST /mcp?a"],
  ["an absolute target", post("a").replace("/mcp", "http://localhost/mcp"), "POST http://localhost/mcp"],
  [
    "a body in chunks",
    post("", "x: y\r\n").replace(/Content-Length.*/s, "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"),
    "POST /mcp",
  ],
  ["a header twice", post("a", "x: 1\r\nx: 1\r\n"), "POST /mcp"],
  ["a line before it", `\r\n${post("a")}`, "POST /mcp"],
  ["a large body", post("a".repeat(65_536)), "POST /mcp"],
])("a request with %s passes Node's server, and with it all that follow", async (_, request, seen) => {
  const { listener, throughNode, direct } = await start();
  const { socket, answers } = await call(listener, post("first"));
  await answers(1);
  socket.write(request);
  await answers(2);
  socket.write(post("last"));
  expect((await answers(3)).at(-1)).toEqual({ status: 200, body: "last" });
  expect([throughNode, direct]).toEqual([[seen, "POST /mcp"], ["first"]]);
});

test("a post that comes in a few pieces is put together; one in many is left to Node's server, whole", async () => {
  const { listener, throughNode, direct } = await start();
  const { socket, answers } = await call(listener);
  const send = async (text: string, size: number): Promise<void> => {
    const head = text.indexOf("\r\n\r\n") + 4;
    socket.write(text.slice(0, head));
    for (let at = head; at < text.length; at += size) {
      await turns(3);
      socket.write(text.slice(at, at + size));
    }
  };
  await send(post("abc"), 1);
  expect(await answers(1)).toEqual(told("abc"));
  expect(direct).toEqual(["abc"]);
  await send(post("abcdefghijklmnopqrstuvwxyz"), 2);
  expect((await answers(2)).at(-1)?.body).toBe("abcdefghijklmnopqrstuvwxyz");
  expect([throughNode, direct]).toEqual([["POST /mcp"], ["abc"]]);
  // Nothing of the lane is left behind.
  socket.write(post("more"));
  expect((await answers(3)).at(-1)?.body).toBe("more");
});

test("a connection that is handed over has the listeners that Node's server gives it, and no others", async () => {
  const counts: Record<string, number>[] = [];
  const look = ({ socket }: NodeRequest, response: NodeResponse): void => {
    counts.push(Object.fromEntries(socket.eventNames().map((name) => [name, socket.listenerCount(name)])));
    response.end();
  };
  const get = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const { listener } = await start({ fallback: look });
  const { socket, answers } = await call(listener, post("a"));
  await answers(1);
  socket.write(get);
  await answers(2);
  const plain = await listenChannelz(createRegistry(), { fallback: look });
  onTestFinished(() => plain.close({ deadlineMs: 0 }));
  await (await call(plain, get)).answers(1);
  expect(counts[0]).toEqual(counts[1]);
});

test("posts that do not wait for answers are answered in order, whenever the answers are there, and the connection goes on", async () => {
  const { onPost, due, answer } = createWaiting();
  const { listener, direct } = await start({}, onPost);
  const { socket, answers } = await call(listener, post("1"));
  await eventually(() => due.length === 1);
  socket.write(post("2"));
  await turns(5);
  answer("a");
  await eventually(() => due.length === 1);
  answer("b");
  expect(await answers(2)).toEqual(told("a", "b"));
  socket.write(post("3"));
  await eventually(() => due.length === 1);
  socket.write(post("4") + post("5"));
  await turns(5);
  expect(due).toHaveLength(1);
  for (const body of ["c", "d", "e"]) {
    await eventually(() => due.length === 1);
    answer(body);
  }
  expect(await answers(5)).toEqual(told("a", "b", "c", "d", "e"));
  expect(direct).toEqual(["1", "2", "3", "4", "5"]);
});

test("a crowd of posts at once is answered in order, whether each is answered at once or not", async () => {
  const { listener, throughNode } = await start({}, ({ body }, response) => {
    if (Number(body) % 3 === 0) response.end(body);
    else if (Number(body) % 3 === 1) setImmediate(() => response.end(body));
    else void Promise.resolve().then(() => response.end(body));
  });
  const bodies = Array.from({ length: 5000 }, (_, i) => String(i));
  const { socket, answers } = await call(listener, bodies.map((body) => post(body)).join(""));
  expect((await answers(5000)).map(({ body }) => body)).toEqual(bodies);
  socket.write(post("3"));
  expect((await answers(5001)).at(-1)?.body).toBe("3");
  expect(listener.stats().requestsOpen).toBe(0);
  // Those that a piece ends in the head of are for Node's server, as is all that follows.
  expect(throughNode.length).toBeLessThan(5001);
});

test.each<[string, PostHandler]>([
  ["at once", echo],
  [
    "without anything else in between",
    (request, response) => void Promise.resolve().then(() => echo(request, response)),
  ],
])("who ends right behind its posts gets all answers that are there %s", async (_, onPost) => {
  const { listener } = await start({}, onPost);
  const { socket, allAnswers } = await call(listener);
  socket.end(post("1") + post("2") + post("3"));
  expect(await allAnswers()).toEqual(told("1", "2", "3"));
});

test("who ends before its post is whole is refused as by Node's server, and counted", async () => {
  const { listener, direct } = await start();
  const { socket, allAnswers } = await call(listener, post("1"));
  socket.end(post("long").slice(0, -2));
  expect(await allAnswers()).toEqual([...told("1"), { status: 400, body: "" }]);
  expect(direct).toEqual(["1"]);
  await eventually(() => listener.stats().connectionsOpen === 0);
  expect(listener.stats()).toMatchObject({ connectionsMalformed: 1, requestsOpen: 0 });
});

test.each([
  ["ends", "", (socket: Socket) => void socket.end()],
  ["is reset", "", (socket: Socket) => void socket.resetAndDestroy()],
  ["ends with more behind its post", post("2"), (socket: Socket) => void socket.end()],
  ["is reset with more behind its post", post("2"), (socket: Socket) => void socket.resetAndDestroy()],
])("who %s while an answer is due is seen to go, and what comes too late is nothing", async (_, more, leave) => {
  const { onPost, due, answer } = createWaiting();
  const { listener, direct } = await start({}, onPost);
  const { socket } = await call(listener, post("1"));
  await eventually(() => due.length === 1);
  for (let times = 0; times < 2; times++) {
    socket.write(more);
    await turns(10);
  }
  let closes = 0;
  due[0]?.on("close", () => closes++);
  leave(socket);
  await eventually(() => closes === 1);
  expect(due[0]).toMatchObject({ writableFinished: false, destroyed: true });
  answer();
  await eventually(() => listener.stats().connectionsOpen === 0);
  expect(listener.stats().requestsOpen).toBe(0);
  expect([closes, direct]).toEqual([1, ["1"]]);
});

test("an answer that breaks off takes the connection with it, and nothing that is held is served", async () => {
  const { listener, direct } = await start({}, (_, response) => {
    response.write("a");
    response.destroy();
    response.end("b");
  });
  const { allAnswers } = await call(listener, post("1") + post("2"));
  expect(await allAnswers()).toEqual([]);
  expect(direct).toEqual(["1"]);
  await eventually(() => listener.stats().requestsOpen === 0);
});

test("an answer that is the last ends the connection when it is out, whatever is held", async () => {
  const { listener, direct } = await start({}, (_, response) => {
    response.writeHead(200, { connection: "close" }).end("a".repeat(4_000_000));
  });
  const { allAnswers } = await call(listener, post("1") + post("2"));
  expect(await allAnswers()).toEqual(told("a".repeat(4_000_000)));
  expect(direct).toEqual(["1"]);
  await eventually(() => listener.stats().connectionsOpen === 0);
});

test("posts need a fallback for those that are not plain, and paths of one part", async () => {
  await expect(listenChannelz(createRegistry(), { posts: { "/mcp": echo } })).rejects.toThrow("posts needs a fallback");
  const fallback = (): void => {};
  for (const path of ["mcp", "/a/b", "/mcp?a", ""]) {
    const posts = { [path]: echo };
    await expect(listenChannelz(createRegistry(), { fallback, posts })).rejects.toThrow("which is no path of one part");
  }
});

test("a handler that throws ends no other connection, and its own with the listener", async () => {
  const { listener, direct } = await start({}, ({ body }, response) => {
    if (body === "bad") throw new Error("thrown by a handler");
    response.end(body);
  });
  const thrown = once(process, "uncaughtException");
  // Vitest listens too, and would take it for its own.
  const others = process.listeners("uncaughtException").slice(0, -1);
  for (const other of others) process.off("uncaughtException", other);
  const { socket } = await call(listener, post("bad"));
  await thrown;
  for (const other of others) process.on("uncaughtException", other);
  expect(await (await call(listener, post("good"))).answers(1)).toEqual(told("good"));
  expect(direct).toEqual(["bad", "good"]);
  await listener.close({ deadlineMs: 0 });
  await readToEnd(socket);
});
