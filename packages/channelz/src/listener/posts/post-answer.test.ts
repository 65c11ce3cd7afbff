import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { eventually, readToEnd } from "../raw-caller.test.helper.js";
import { PostAnswer } from "./post-answer.js";
import { readAnswers } from "./two-ways.test.helper.js";

interface Pair {
  readonly served: Socket;
  readonly caller: Socket;
  /** The answers that have ended, in order. */
  readonly ended: PostAnswer[];
  answer(): PostAnswer;
}

async function openPair(): Promise<Pair> {
  const server = createServer();
  const accepted = once(server, "connection");
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const caller = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [served] = (await accepted) as [Socket];
  for (const socket of [caller, served]) socket.on("error", () => {});
  onTestFinished(() => {
    caller.destroy();
    served.destroy();
    server.close();
  });
  const ended: PostAnswer[] = [];
  return { served, caller, ended, answer: () => new PostAnswer(served, (answer) => void ended.push(answer)) };
}

/** What the caller gets of an answer that is given like this. */
async function sentBy(
  give: (answer: PostAnswer) => void,
): Promise<{ text: string; answer: PostAnswer; ended: PostAnswer[] }> {
  const { served, caller, ended, answer: create } = await openPair();
  const answer = create();
  give(answer);
  served.end();
  return { text: await readToEnd(caller), answer, ended };
}

test("an answer that is given whole has its length and the date, and is over", async () => {
  const { text, answer, ended } = await sentBy((given) => given.writeHead(201, { "x-a": "1", "x-b": 2 }).end("grün"));
  expect(text).toMatch(/^HTTP\/1\.1 201 Created\r\nx-a: 1\r\nx-b: 2\r\ncontent-length: 5\r\ndate: [^\r]+ GMT\r\n\r\n/);
  expect(readAnswers(text)).toEqual([{ status: 201, body: "grün" }]);
  expect(answer).toMatchObject({
    headersSent: true,
    writableEnded: true,
    writableFinished: true,
    hasBody: true,
    destroyed: true,
  });
  expect(ended).toEqual([answer]);
});

test("an answer that is given in parts is told apart by them, whatever its characters", async () => {
  const { text } = await sentBy((answer) => {
    answer.writeHead(200);
    answer.flushHeaders();
    answer.write("grün ");
    answer.write("");
    answer.write("𝄞");
    answer.end("é", "latin1");
  });
  expect(text).toContain("transfer-encoding: chunked\r\n");
  expect(text).not.toContain("content-length");
  // The last is as Latin-1, so no UTF-8.
  expect(readAnswers(text)).toEqual([{ status: 200, body: "grün 𝄞\ufffd" }]);
  expect(text.endsWith("1\r\n\xe9\r\n0\r\n\r\n")).toBe(true);
});

test("an answer whose length is said before its parts is sent as it is", async () => {
  const { text } = await sentBy((answer) => {
    answer.writeHead(200, { "Content-Length": 4 });
    answer.write("gr");
    answer.end("ün".slice(0, 1));
  });
  expect(text).not.toContain("chunked");
  expect(readAnswers(text)).toEqual([{ status: 200, body: "grü" }]);
});

test.each([204, 304])("an answer with the status %s has no body, whatever it is given", async (status) => {
  const { text, answer } = await sentBy((given) => {
    given.writeHead(status, { "content-length": 3 });
    given.end("abc");
  });
  expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^\\r]+\\r\\ndate: [^\\r]+\\r\\n\\r\\n$`));
  expect(answer.hasBody).toBe(false);
  const { text: inParts } = await sentBy((given) => {
    given.writeHead(status);
    given.write("abc");
    given.end("def");
  });
  expect(inParts.split("\r\n\r\n")[1]).toBe("");
});

test("what frames an answer is not taken from who answers", async () => {
  const { text } = await sentBy((answer) => {
    answer.setHeader("Content-Length", 1);
    answer.writeHead(200, { "Content-LENGTH": "2", "Transfer-Encoding": "chunked", Date: "today" });
    answer.end("abc");
  });
  expect(text.toLowerCase().match(/content-length|transfer-encoding|date/g)).toEqual(["date", "content-length"]);
  expect(readAnswers(text)).toEqual([{ status: 200, body: "abc" }]);
});

test("a header of writeHead takes the place of one that was set, however the two are written", async () => {
  const { text } = await sentBy((answer) => {
    answer.setHeader("Vary", "Origin");
    answer.setHeader("x-set", "1");
    answer.writeHead(200, { vary: "Accept" }).end();
  });
  expect(text.match(/^(vary|x-set): .*/gm)).toEqual(["vary: Accept", "x-set: 1"]);
});

test.each(["close", "Close", "x, close"])("an answer with connection: %s is the last", async (value) => {
  const { answer } = await sentBy((given) => given.writeHead(200, { Connection: value }).end());
  expect(answer.isLast).toBe(true);
});

test.each<[string, (answer: PostAnswer) => void]>([
  ["a line end in a value", (answer) => answer.writeHead(200, { "x-a": "1\r\nx-b: 2" }).end()],
  [
    "a line end in a value that is set",
    (answer) => {
      answer.setHeader("x-a", "1\n");
      answer.flushHeaders();
    },
  ],
  ["a line end in a name", (answer) => answer.writeHead(200, { "x-a: 1\r\nx-b": "2" }).write("a")],
  ["characters that are not the same in every encoding", (answer) => answer.writeHead(200, { "x-a": "é" }).end()],
  ["a status that is none", (answer) => answer.writeHead("200 OK\r\nx-a: 1" as unknown as number).end()],
  ["a status that is not the last", (answer) => answer.writeHead(100).end()],
])("a head with %s is a TypeError, of which nothing is sent: another answer can be given", async (_, give) => {
  const { text, ended } = await sentBy((answer) => {
    expect(() => give(answer)).toThrow(TypeError);
    expect(answer).toMatchObject({ headersSent: false, writableEnded: false });
    answer.setHeader("x-a", "good");
    answer.writeHead(500).end("no");
  });
  expect(readAnswers(text)).toEqual([{ status: 500, body: "no" }]);
  expect(ended).toHaveLength(1);
});

test("a head that is out cannot be changed", async () => {
  const { answer } = await sentBy((given) => {
    given.writeHead(200).flushHeaders();
    expect(() => given.writeHead(500)).toThrow(TypeError);
    expect(() => given.setHeader("x-a", "1")).toThrow(TypeError);
    given.end();
  });
  expect(answer.statusCode).toBe(200);
});

test("what comes after the end is nothing", async () => {
  const { text, ended } = await sentBy((answer) => {
    answer.end("one");
    answer.end("two");
    expect(answer.write("three")).toBe(false);
    answer.flushHeaders();
  });
  expect(readAnswers(text)).toEqual([{ status: 200, body: "one" }]);
  expect(ended).toHaveLength(1);
});

test("who listens for the close hears it once, also where it came before; and leaves nothing on the connection", async () => {
  const { served, answer: create } = await openPair();
  const heard: string[] = [];
  const answer = create();
  answer.on("close", () => heard.push("on"));
  answer.once("close", () => heard.push("once"));
  answer.on("drain", () => {});
  expect(served.listenerCount("drain")).toBe(1);
  answer.end("a");
  expect(heard).toEqual(["on", "once"]);
  answer.on("close", () => heard.push("late"));
  answer.on("drain", () => {});
  await eventually(() => heard.length === 3);
  expect(served.listenerCount("drain")).toBe(0);
  answer.connectionClosed();
  expect(heard).toEqual(["on", "once", "late"]);
});

test("a listener that throws does not keep the answer from its end", async () => {
  const { ended, answer: create } = await openPair();
  const answer = create();
  answer.on("close", () => {
    throw new Error("mine");
  });
  expect(() => answer.end()).toThrow("mine");
  expect(ended).toEqual([answer]);
});

test("an answer is over when the system has all of it, and not before", async () => {
  const { served, caller, ended, answer: create } = await openPair();
  const answer = create();
  let drained = 0;
  answer.on("drain", () => drained++);
  caller.pause();
  const size = 16 * 1024 * 1024;
  expect(answer.write("b".repeat(size))).toBe(false);
  answer.end("c");
  expect(answer).toMatchObject({ writableEnded: true, writableFinished: false });
  expect(answer.writableLength).toBeGreaterThan(0);
  expect(ended).toEqual([]);
  let taken = 0;
  caller.on("data", ({ length }: Buffer) => {
    taken += length;
  });
  caller.resume();
  await eventually(() => ended.length === 1);
  expect(answer.writableFinished).toBe(true);
  expect(drained).toBeLessThanOrEqual(1);
  expect(served.listenerCount("drain")).toBe(0);
  await eventually(() => taken > size);
});

test.each(["reset", "destroyed"] as const)(
  "an answer is not finished where its connection is %s before all of it is taken",
  async (how) => {
    const { served, caller, ended, answer: create } = await openPair();
    const answer = create();
    caller.pause();
    answer.end("b".repeat(16 * 1024 * 1024));
    served.on("close", () => answer.connectionClosed());
    if (how === "reset") caller.resetAndDestroy();
    else answer.destroy();
    await eventually(() => ended.length === 1);
    expect(answer).toMatchObject({ writableFinished: false, destroyed: true });
  },
);

test("an answer that the system refuses at once is not finished", async () => {
  const { served, caller, ended, answer: create } = await openPair();
  const answer = create();
  served.on("close", () => answer.connectionClosed());
  // More than a socket reads that nobody listens to: where that is closed, the other end is reset.
  served.write("x".repeat(262_144));
  await eventually(() => served.writableLength === 0);
  caller.destroy();
  answer.end("late");
  await eventually(() => ended.length === 1);
  expect(answer).toMatchObject({ writableEnded: true, writableFinished: false });
});
