import type { Server } from "node:http";
import { describe, expect, test } from "vitest";
import { callHttp1, ok, post, startHeld } from "./http1-caller.test.helper.js";
import { eventually } from "./raw-caller.test.helper.js";

const get = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/** Lets turns of the event loop pass. */
const turns = async (count: number): Promise<void> => {
  for (let left = count; left > 0; left--) await new Promise((resolve) => setImmediate(resolve));
};

describe("[CZ-D-LISTEN-10] pipelined requests", () => {
  test("sends the responses in order, even if a later response is ready first", async () => {
    const { listener, due } = await startHeld();
    const { socket, responses } = await callHttp1(listener, post("hold 1") + post("2") + post("hold 3"));
    await eventually(() => due.length === 2);
    due[1]?.end("third");
    await turns(5);
    due[0]?.end("first");
    expect(await responses(3)).toEqual(ok("first", "2", "third"));
    socket.write(post("4"));
    expect((await responses(4)).at(-1)).toEqual({ status: 200, body: "4" });
    expect(listener.stats()).toMatchObject({ requestsStarted: 4, requestsOpen: 0, connectionsOpen: 1 });
  });

  test.each([
    ["a malformed request", "GARBAGE\r\n\r\n", 400],
    ["a malformed chunk", `${post("").replace(/Content-Length.*/s, "Transfer-Encoding: chunked\r\n\r\nzz\r\n")}`, 400],
    ["headers that are too large", `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(3000)}\r\n\r\n`, 431],
  ])("sends the responses before the status that refuses %s behind them", async (_, bad, status) => {
    const { listener, due } = await startHeld({ limits: { maxHeaderBytes: 2000 } });
    const { allResponses } = await callHttp1(listener, post("hold 1") + post("hold 2") + bad + post("3"));
    await eventually(() => due.length === 2 && listener.stats().connectionsMalformed === 1);
    await turns(5);
    due[1]?.end("second");
    await turns(5);
    due[0]?.end("first");
    expect(await allResponses()).toEqual([...ok("first", "second"), { status, body: "" }]);
    await eventually(() => listener.stats().connectionsOpen === 0);
    expect(listener.stats()).toMatchObject({ connectionsMalformed: 1, requestsOpen: 0 });
  });

  test("closes and counts a connection with more pipelined requests than allowed", async () => {
    const { listener } = await startHeld({ limits: { maxConcurrentStreams: 3 }, fallback: () => {} });
    const fine = await callHttp1(listener, get.repeat(3));
    const { allResponses } = await callHttp1(listener, get.repeat(500));
    expect(await allResponses()).toEqual([]);
    await eventually(() => listener.stats().requestsOpen === 3);
    expect(listener.stats()).toMatchObject({ requestsStarted: 6, connectionsMalformed: 1, connectionsOpen: 1 });
    expect(fine.socket.closed).toBe(false);
  });

  test("counts no waiting request as open after its connection is gone", async () => {
    const { listener } = await startHeld({ fallback: () => {} });
    const { socket } = await callHttp1(listener, get.repeat(3));
    await eventually(() => listener.stats().requestsOpen === 3);
    socket.destroy();
    await eventually(() => listener.stats().requestsOpen === 0);
  });

  test("responds to all pipelined requests if the client ends its side after sending them", async () => {
    const { listener } = await startHeld();
    const { socket, allResponses } = await callHttp1(listener);
    socket.end(post("1") + post("2") + post("3"));
    expect(await allResponses()).toEqual(ok("1", "2", "3"));
  });
});

test.each([
  ["the same name twice", "Host: localhost\r\nHost: localhost\r\n"],
  ["another name second", "Host: localhost\r\nhost: evil.example\r\n"],
  ["another name first", "HOST: evil.example\r\nX: y\r\nHost: localhost\r\n"],
])("[CZ-D-ACCESS-4] refuses a request with two Host headers (%s) with 400", async (_, hosts) => {
  const { listener, bodies } = await startHeld();
  const { allResponses } = await callHttp1(listener, `POST /mcp HTTP/1.1\r\n${hosts}Content-Length: 1\r\n\r\na`);
  expect((await allResponses()).map(({ status }) => status)).toEqual([400]);
  expect(bodies).toEqual([]);
  expect(listener.stats().requestsRefused).toBe(1);
});

describe("the token check", () => {
  const headers = (token: string, more = ""): string =>
    `POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n${more}Content-Length: 60000\r\n\r\n`;

  test("refuses a wrong token with 401 before the body arrives, and closes the connection", async () => {
    const { listener, bodies } = await startHeld({ token: "secret" });
    const { allResponses } = await callHttp1(listener, headers("wrong"));
    expect((await allResponses()).map(({ status }) => status)).toEqual([401]);
    expect(bodies).toEqual([]);
    expect(listener.stats().requestsRefused).toBe(1);
  });

  test("sends 100 Continue only to a client with the right token", async () => {
    const { listener } = await startHeld({ token: "secret" });
    const wrong = await callHttp1(listener, headers("wrong", "Expect: 100-continue\r\n"));
    expect((await wrong.allResponses()).map(({ status }) => status)).toEqual([401]);
    const right = await callHttp1(listener, headers("secret", "Expect: 100-continue\r\n"));
    expect((await right.responses(1)).map(({ status }) => status)).toEqual([100]);
    right.socket.write("x".repeat(60_000));
    expect((await right.responses(2)).at(-1)).toEqual({ status: 200, body: "x".repeat(60_000) });
  });
});

describe("[CZ-D-LISTEN-1] a body that does not arrive in time", () => {
  // The time for headers must not be added to the time for the body.
  const limits = { headersTimeoutMs: 600_000, requestTimeoutMs: 100 };

  test("sends 408 if a body does not arrive in time, and counts it", async () => {
    const { listener, bodies } = await startHeld({ limits });
    const { allResponses } = await callHttp1(listener, post("abc").slice(0, -1));
    expect(await allResponses()).toEqual([{ status: 408, body: "" }]);
    expect(bodies).toEqual([]);
    expect(listener.stats()).toMatchObject({ connectionsTimedOut: 1, requestsTimedOut: 1 });
    await eventually(() => listener.stats().requestsOpen === 0);
  });

  test("sends 408 for a late body after the responses that are due before it", async () => {
    const { listener, due } = await startHeld({ limits });
    const { allResponses } = await callHttp1(listener, post("hold") + post("abc").slice(0, -1));
    await eventually(() => listener.stats().requestsTimedOut === 1);
    await turns(5);
    due[0]?.end("first");
    expect(await allResponses()).toEqual([...ok("first"), { status: 408, body: "" }]);
  });
});

describe("[CZ-D-LISTEN-1] a request that Node responds to itself", () => {
  const unexpected = post("abc", "Expect: more\r\n").slice(0, -1);

  test("closes and counts a connection whose client never completes such a request, after the response that is due before it", async () => {
    const { listener, due } = await startHeld({
      limits: { headersTimeoutMs: 100, requestTimeoutMs: 100, idleTimeoutMs: 100 },
    });
    const { allResponses } = await callHttp1(listener, post("hold") + unexpected);
    await eventually(() => listener.stats().connectionsTimedOut === 1);
    await eventually(() => due.length === 1);
    due[0]?.end("first");
    const responses = await allResponses();
    expect(responses.slice(0, 2)).toEqual([...ok("first"), { status: 417, body: "" }]);
    expect(responses.at(-1)).toEqual({ status: 408, body: "" });
    await eventually(() => listener.stats().connectionsOpen === 0);
    expect(listener.stats()).toMatchObject({ requestsStarted: 1, requestsTimedOut: 0, requestsOpen: 0 });
  });

  test("leaves each body at least the time of the limits, even if Node's default is shorter", async () => {
    const limits = { headersTimeoutMs: 1000, requestTimeoutMs: 900_000, idleTimeoutMs: 800_000 };
    const timeouts: number[] = [];
    const observer = { onHttp1Server: (server: Server) => void timeouts.push(server.requestTimeout) };
    await startHeld({ limits, observer });
    await startHeld({ limits: { ...limits, idleTimeoutMs: 1_000_000 }, observer });
    expect(timeouts).toEqual([901_000, 1_001_000]);
  });
});

test("sends 400 to a client that ends its side before its request is complete, and counts it", async () => {
  const { listener, bodies } = await startHeld();
  const { socket, allResponses } = await callHttp1(listener, post("1"));
  socket.end(post("long").slice(0, -2));
  expect(await allResponses()).toEqual([...ok("1"), { status: 400, body: "" }]);
  expect(bodies).toEqual(["1"]);
  await eventually(() => listener.stats().connectionsOpen === 0);
  expect(listener.stats()).toMatchObject({ connectionsMalformed: 1, requestsOpen: 0 });
});

test.each([
  ["ends its side", false, ""],
  ["resets the connection", true, ""],
  ["ends its side after a malformed request", false, "GARBAGE\r\n\r\n"],
])("notices at once if a client %s while a response is due", async (_, resets, more) => {
  const { listener, due } = await startHeld();
  const { socket } = await callHttp1(listener, post("hold") + more);
  await eventually(() => due.length === 1);
  let closes = 0;
  due[0]?.on("close", () => closes++);
  if (resets) socket.resetAndDestroy();
  else socket.end();
  await eventually(() => closes === 1 && listener.stats().connectionsOpen === 0);
  expect(due[0]?.writableFinished).toBe(false);
  expect(listener.stats().requestsOpen).toBe(0);
});

test("closes an idle connection that was served before", async () => {
  const { listener } = await startHeld({ limits: { idleTimeoutMs: 100 } });
  const { allResponses } = await callHttp1(listener, post("1"));
  expect(await allResponses()).toEqual(ok("1"));
  expect(listener.stats()).toMatchObject({ connectionsTimedOut: 1, connectionsOpen: 0 });
});

test("[CZ-D-LISTEN-3] keeps a connection in the middle of a request at the connection limit, and closes an idle one", async () => {
  const { listener, bodies } = await startHeld({ limits: { maxConnections: 2 } });
  const busy = await callHttp1(listener, post("1"));
  await busy.responses(1);
  const idle = await callHttp1(listener, post("2"));
  await idle.responses(1);
  busy.socket.write(post("three").slice(0, -3));
  await eventually(() => listener.stats().requestsOpen === 1);
  const newcomer = await callHttp1(listener, post("4"));
  expect(await newcomer.responses(1)).toEqual(ok("4"));
  await eventually(() => idle.socket.closed);
  busy.socket.write("ree");
  expect(await busy.responses(2)).toEqual(ok("1", "three"));
  expect(bodies).toEqual(["1", "2", "4", "three"]);
  expect(listener.stats()).toMatchObject({ connectionsDisplaced: 1, connectionsRefused: 0 });
});

describe("[CZ-D-LISTEN-4] close", () => {
  test("waits for the responses that are due, including those to pipelined requests", async () => {
    const { listener, due } = await startHeld();
    const { allResponses } = await callHttp1(listener, post("hold").repeat(3));
    await eventually(() => due.length === 3);
    const closed = listener.close({ deadlineMs: 20_000 });
    for (const [index, response] of due.entries()) {
      await turns(3);
      response.end(String(index));
    }
    expect(await allResponses()).toEqual(ok("0", "1", "2"));
    await closed;
    expect(listener.stats()).toMatchObject({ requestsOpen: 0, connectionsOpen: 0 });
  });

  test("waits for the rest of a body, and ends idle connections", async () => {
    const { listener } = await startHeld();
    const idle = await callHttp1(listener, post("1"));
    await idle.responses(1);
    const { socket, allResponses } = await callHttp1(listener, post("two").slice(0, -1));
    await eventually(() => listener.stats().requestsOpen === 1);
    const closed = listener.close({ deadlineMs: 20_000 });
    expect(await idle.allResponses()).toEqual(ok("1"));
    socket.write("o");
    expect(await allResponses()).toEqual(ok("two"));
    await closed;
  });

  test("cuts off a response that never arrives at the deadline", async () => {
    const { listener, due } = await startHeld();
    const { allResponses } = await callHttp1(listener, post("hold"));
    await eventually(() => due.length === 1);
    await listener.close({ deadlineMs: 50 });
    expect(await allResponses()).toEqual([]);
  });
});
