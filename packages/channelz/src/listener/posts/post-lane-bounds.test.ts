import { expect, onTestFinished, test } from "vitest";
import { eventually, openSocket, portOf } from "../raw-caller.test.helper.js";
import type { PostAnswer } from "./post-answer.js";
import { call, createWaiting, post, start, told, turns } from "./post-caller.test.helper.js";

test("requests that wait for the answer to another are not open when their connection is gone", async () => {
  const { listener } = await start({ fallback: () => {} });
  const { socket } = await call(listener, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(3));
  await eventually(() => listener.stats().requestsOpen === 3);
  socket.destroy();
  await eventually(() => listener.stats().requestsOpen === 0);
});

test("who asks for more than it takes does not fill the memory: what it sends waits outside", async () => {
  const { onPost, due } = createWaiting();
  const { listener } = await start({}, onPost);
  const { socket } = await call(listener, post("1"));
  await eventually(() => due.length === 1);
  const { writableHighWaterMark } = socket;
  let isStuck = false;
  for (let round = 0; round < 2000 && !isStuck; round++) {
    socket.write("x".repeat(65_536));
    await turns(2);
    isStuck = socket.writableLength > 4 * writableHighWaterMark + 65_536;
  }
  expect(isStuck).toBe(true);
});

test("what waited outside is read when there is room", async () => {
  const due: PostAnswer[] = [];
  const { listener, direct } = await start({}, ({ body }, response) => {
    if (body === "first") due.push(response);
    else response.end(body);
  });
  const { socket, answers } = await call(listener, post("first"));
  await eventually(() => due.length === 1);
  const bodies = Array.from({ length: 8 }, (_, i) => String(i).repeat(60_000));
  socket.write(bodies.map((body) => post(body)).join(""));
  await turns(20);
  due[0]?.end("first");
  expect(await answers(9)).toEqual(told("first", ...bodies));
  expect(direct.length).toBeGreaterThan(2);
});

test("[CZ-D-LISTEN-1] a body that never comes is answered with 408 in time, and counted", async () => {
  const { listener, direct } = await start({ limits: { headersTimeoutMs: 60, requestTimeoutMs: 60 } });
  const { allAnswers } = await call(listener, post("abc").slice(0, -1));
  expect(await allAnswers()).toEqual([{ status: 408, body: "" }]);
  expect(direct).toEqual([]);
  expect(listener.stats()).toMatchObject({ connectionsTimedOut: 1 });
  await eventually(() => listener.stats().requestsOpen === 0);
});

test("[CZ-D-LISTEN-10] a head that is too large is refused with 431, one that is not is taken", async () => {
  const { listener, throughNode } = await start({ limits: { maxHeaderBytes: 2000 } });
  const { socket, answers, allAnswers } = await call(listener, post("1", `x: ${"y".repeat(1800)}\r\n`));
  expect(await answers(1)).toEqual(told("1"));
  socket.write(post("2", `x: ${"y".repeat(2100)}\r\n`));
  expect((await allAnswers()).at(-1)?.status).toBe(431);
  expect(throughNode).toEqual([]);
});

test("[CZ-D-LISTEN-10] a connection that has had its posts is closed when it idles", async () => {
  const { listener } = await start({ limits: { idleTimeoutMs: 100 } });
  const { allAnswers } = await call(listener, post("1"));
  expect(await allAnswers()).toEqual(told("1"));
  expect(listener.stats()).toMatchObject({ connectionsTimedOut: 1, connectionsOpen: 0 });
});

test("[CZ-D-LISTEN-10] a connection on which Node's server answers by itself is closed when it idles, too", async () => {
  const { onPost, due, answer } = createWaiting();
  const { listener, throughNode } = await start({ limits: { idleTimeoutMs: 100, requestTimeoutMs: 100 } }, onPost);
  const { allAnswers } = await call(listener, post("1") + post("2", "expect: more\r\n"));
  await eventually(() => due.length === 1);
  answer("a");
  expect((await allAnswers()).map(({ status }) => status)).toEqual([200, 417]);
  expect(throughNode).toEqual([]);
  expect(listener.stats()).toMatchObject({ connectionsTimedOut: 1, connectionsOpen: 0, requestsOpen: 0 });
});

test("[CZ-D-LISTEN-10] at the bound, who is in the midst of a post keeps its place, and who idles does not", async () => {
  const { listener, direct } = await start({ limits: { maxConnections: 2 } });
  const { socket: busy, answers } = await call(listener, post("1"));
  await answers(1);
  const idle = await call(listener, post("2"));
  await idle.answers(1);
  const [head, rest] = [post("three").slice(0, -3), post("three").slice(-3)];
  busy.write(head);
  await eventually(() => busy.bytesWritten > head.length && busy.writableLength === 0);
  await turns(10);
  const newcomer = await call(listener, post("4"));
  expect(await newcomer.answers(1)).toEqual(told("4"));
  await eventually(() => idle.socket.closed);
  busy.write(rest);
  expect(await answers(2)).toEqual(told("1", "three"));
  expect(direct).toEqual(["1", "2", "4", "three"]);
  expect(listener.stats()).toMatchObject({ connectionsDisplaced: 1, connectionsRefused: 0 });
});

test("[CZ-D-LISTEN-4] closing waits for an answer that is due, and for the posts behind it", async () => {
  const { onPost, due, answer } = createWaiting();
  const { listener } = await start({}, onPost);
  const { allAnswers } = await call(listener, post("1") + post("2") + post("3"));
  await eventually(() => due.length === 1);
  const closed = listener.close({ deadlineMs: 20_000 });
  for (const body of ["a", "b", "c"]) {
    await eventually(() => due.length === 1);
    await turns(3);
    answer(body);
  }
  expect(await allAnswers()).toEqual(told("a", "b", "c"));
  await closed;
  expect(listener.stats()).toMatchObject({ requestsOpen: 0, connectionsOpen: 0 });
});

test("[CZ-D-LISTEN-4] closing waits for the rest of a post, and ends what idles", async () => {
  const { listener } = await start();
  const idle = await call(listener, post("1"));
  await idle.answers(1);
  const { socket, allAnswers } = await call(listener, post("two").slice(0, -1));
  await turns(10);
  const closed = listener.close({ deadlineMs: 20_000 });
  expect(await idle.allAnswers()).toEqual(told("1"));
  socket.write("o");
  expect(await allAnswers()).toEqual(told("two"));
  await closed;
});

test("[CZ-D-LISTEN-4] closing cuts an answer that never comes, at the deadline", async () => {
  const { onPost, due } = createWaiting();
  const { listener } = await start({}, onPost);
  const { allAnswers } = await call(listener, post("1"));
  await eventually(() => due.length === 1);
  await listener.close({ deadlineMs: 50 });
  expect(await allAnswers()).toEqual([]);
  expect(due[0]?.destroyed).toBe(true);
});

test("[CZ-D-LISTEN-9] an answer that its caller takes slowly comes whole; one of which it takes nothing is cut", async () => {
  const size = 32 * 1024 * 1024;
  const { listener } = await start({ limits: { stallTimeoutMs: 800 } }, (_, response) => {
    response.write("b".repeat(size - 1));
    response.end("b");
  });
  const slow = await openSocket(portOf(listener.address));
  const stalled = await openSocket(portOf(listener.address));
  onTestFinished(() => void [slow, stalled].map((socket) => socket.destroy()));
  stalled.pause();
  slow.pause();
  for (const socket of [slow, stalled]) socket.write(post("1"));
  const startedAt = performance.now();
  let taken = 0;
  for await (const chunk of slow) {
    taken += chunk.length;
    // For a while no more than a fraction is taken in the time that an answer may lie still.
    if (performance.now() - startedAt < 1200) await new Promise((resolve) => setTimeout(resolve, 5));
    if (taken > size) break;
  }
  expect(taken).toBeGreaterThan(size);
  await eventually(() => listener.stats().requestsOpen === 0);
  expect(listener.stats()).toMatchObject({ requestsTimedOut: 1, connectionsTimedOut: 1 });
});

test("[CZ-D-LISTEN-10] who observes is told of every post and of how it ended, in order", async () => {
  const seen: string[] = [];
  const { onPost, due, answer } = createWaiting();
  const { listener } = await start(
    {
      token: "secret",
      observer: {
        onPosts: () => ({
          received: (hasBody) => void seen.push(`received ${hasBody}`),
          ended: ({ statusCode, hasBody, writableFinished }) =>
            void seen.push(`ended ${statusCode} ${hasBody} ${writableFinished}`),
        }),
      },
    },
    onPost,
  );
  const withToken = "Authorization: Bearer secret\r\n";
  const { socket, answers } = await call(listener, post("1", withToken) + post("", withToken));
  await eventually(() => due.length === 1);
  answer("");
  await eventually(() => due.length === 1);
  answer("a");
  await answers(2);
  socket.write(post("2", withToken));
  await eventually(() => due.length === 1);
  socket.resetAndDestroy();
  await eventually(() => seen.length === 6);
  const refused = await call(listener, post("3"));
  await refused.allAnswers();
  expect(seen).toEqual([
    "received true",
    "ended 200 false true",
    "received false",
    "ended 200 true true",
    "received true",
    "ended 200 false false",
    "received true",
    "ended 401 true true",
  ]);
});
