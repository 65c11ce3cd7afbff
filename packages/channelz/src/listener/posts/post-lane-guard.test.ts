import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls, TLSSocket } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { createRegistry } from "../../registry/registry.js";
import { type ChannelzListener, type ListenOptions, listenChannelz } from "../listen.js";
import { eventually, openSocket, portOf, readToEnd } from "../raw-caller.test.helper.js";
import { readAnswers } from "./two-ways.test.helper.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const origin = "https://tools.example";

/** Starts a listener that says hello, past Node's server or not. */
async function start(takesPosts: boolean, options: ListenOptions = {}): Promise<ChannelzListener> {
  const listener = await listenChannelz(createRegistry(), {
    fallback: (_, response) => void response.writeHead(200).end("through Node"),
    ...(takesPosts && { posts: { "/mcp": (_, response) => void response.writeHead(200).end("direct") } }),
    ...options,
  });
  cleanups.push(() => listener.close({ deadlineMs: 0 }));
  return listener;
}

const post = (headers: Readonly<Record<string, string>> = {}, body = "{}"): string => {
  const lines = Object.entries({ host: "localhost", ...headers, "content-length": String(Buffer.byteLength(body)) });
  return `POST /mcp HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`;
};

interface Conversation {
  readonly text: () => string;
  say(text: string): void;
  /** Waits until there are so many answers, and gives the status of the last. */
  status(count: number): Promise<number | undefined>;
}

function converse(socket: Socket): Conversation {
  let text = "";
  cleanups.push(() => socket.destroy());
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
  });
  return {
    text: () => text,
    say: (more) => void socket.write(more),
    async status(count) {
      await eventually(() => readAnswers(text).length >= count);
      return readAnswers(text).at(-1)?.status;
    },
  };
}

/** What a post is answered with, up to the end of the connection; but for what says when, and how much. */
async function answerTo({ address }: ChannelzListener, text: string): Promise<{ head: string[]; body: string }> {
  const socket = await openSocket(portOf(address));
  socket.write(text);
  const heard = await readToEnd(socket);
  const lines = heard.slice(0, heard.indexOf("\r\n\r\n")).toLowerCase().split("\r\n");
  const body = readAnswers(heard, true)[0]?.body ?? "";
  return {
    head: lines.filter((line) => !/^(date|keep-alive|content-length|transfer-encoding):/.test(line)).sort(),
    body,
  };
}

test("[CZ-D-LISTEN-10] posts that are refused are refused as by Node's server: in the caller's protocol, closed, counted", async () => {
  const options = { token: "secret", allowedOrigins: [origin] };
  const [direct, throughNode] = await Promise.all([start(true, options), start(false, options)]);
  const types = [
    "text/plain",
    "application/json",
    "application/proto",
    "application/grpc",
    "application/grpc-web+proto",
  ];
  const bearer = { authorization: "Bearer secret" };
  const faults = [
    {},
    { authorization: "Bearer other" },
    { authorization: "Basic secret" },
    { origin },
    { ...bearer, host: "evil.example" },
    { ...bearer, origin: "https://evil.example" },
    { ...bearer, "sec-fetch-site": "cross-site" },
  ];
  let refused = 0;
  for (const type of [...types, "application/connect+json", "APPLICATION/GRPC; charset=x"]) {
    for (const fault of faults) {
      const text = post({ "content-type": type, ...fault });
      const answer = await answerTo(direct, text);
      expect(answer.head).toContain("connection: close");
      expect(answer).toEqual(await answerTo(throughNode, text));
      refused += 1;
    }
  }
  for (const listener of [direct, throughNode]) {
    expect(listener.stats()).toMatchObject({ requestsStarted: refused, requestsRefused: refused });
    await eventually(() => listener.stats().connectionsOpen === 0 && listener.stats().requestsOpen === 0);
  }
});

test("[CZ-D-LISTEN-10] a post that is refused is the last of its connection, whatever is behind it", async () => {
  const listener = await start(true, { token: "secret" });
  const socket = await openSocket(portOf(listener.address));
  const bearer = { authorization: "Bearer secret" };
  socket.write(post(bearer) + post() + post(bearer));
  expect(readAnswers(await readToEnd(socket)).map(({ status }) => status)).toEqual([200, 401]);
  expect(listener.stats()).toMatchObject({ requestsStarted: 2, requestsRefused: 1 });
});

test("[CZ-D-LISTEN-10] pages of allowed origins may read the answers, those that are refused too", async () => {
  const options = { token: "secret", allowedOrigins: [origin], cors: { responseHeaders: ["x-told"] } };
  const [direct, throughNode] = await Promise.all([start(true, options), start(false, options)]);
  const good = { origin, authorization: "Bearer secret" };
  for (const headers of [{ origin }, good]) {
    const conversations = await Promise.all(
      [direct, throughNode].map(async ({ address }) => converse(await openSocket(portOf(address)))),
    );
    for (const { say } of conversations) say(post(headers));
    const told = await Promise.all(
      conversations.map(async ({ status, text }) => {
        await status(1);
        return text().match(/^(access-control-[^\r]*|vary[^\r]*)/gim);
      }),
    );
    expect(told[0]).toHaveLength(3);
    expect(told[0]).toEqual(told[1]);
  }
  const page = converse(await openSocket(portOf(direct.address)));
  page.say(post(good));
  expect(await page.status(1)).toBe(200);
  page.say(
    `OPTIONS /mcp HTTP/1.1\r\nhost: localhost\r\norigin: ${origin}\r\naccess-control-request-method: POST\r\n\r\n`,
  );
  expect(await page.status(2)).toBe(204);
});

test("[CZ-D-LISTEN-10] a public path needs no token, and its Host is held against the listener's all the same", async () => {
  const listener = await start(true, { token: "secret", publicPaths: ["/mcp"] });
  const { say, status } = converse(await openSocket(portOf(listener.address)));
  say(post());
  expect(await status(1)).toBe(200);
  say(post({ host: "evil.example" }));
  expect(await status(2)).toBe(403);
});

test("[CZ-D-LISTEN-10] a token that is replaced between two posts of a connection counts for the second, though its head is the same", async () => {
  const directory = mkdtempSync(join(tmpdir(), "wirescope-posts-"));
  cleanups.push(() => rmSync(directory, { recursive: true }));
  const tokenFile = join(directory, "token");
  writeFileSync(tokenFile, "first");
  const listener = await start(true, { tokenFile });
  const { say, status, text } = converse(await openSocket(portOf(listener.address)));
  const [first, second] = ["first", "second-one"].map((token) => post({ authorization: `Bearer ${token}` })) as [
    string,
    string,
  ];
  say(first);
  expect(await status(1)).toBe(200);
  writeFileSync(tokenFile, "second-one");
  // One that is not known is looked up at once, and the old one is known no more.
  say(second);
  expect(await status(2)).toBe(200);
  say(first);
  expect(await status(3)).toBe(401);
  expect(text()).not.toContain("second-one");
});

test("[CZ-D-LISTEN-10] posts come over TLS with the certificate of their caller, and over a Unix socket", async () => {
  const read = (name: string): string =>
    readFileSync(new URL(`../../../../../test/certificates/${name}.pem`, import.meta.url), "utf8");
  const seen: string[] = [];
  const posts: NonNullable<ListenOptions["posts"]> = {
    "/mcp": ({ socket, body }, response) => {
      seen.push(socket instanceof TLSSocket ? String(socket.getPeerCertificate().subject.CN) : "none");
      response.writeHead(200).end(body.repeat(100_000));
    },
  };
  const tls = { cert: read("server"), key: read("server-key"), ca: read("ca") };
  const encrypted = await start(true, { tls, posts });
  const secure = connectTls({
    ...portOf(encrypted.address),
    cert: read("client"),
    key: read("client-key"),
    rejectUnauthorized: false,
    ALPNProtocols: ["http/1.1"],
  });
  secure.on("error", () => {});
  await once(secure, "secureConnect");
  const directory = mkdtempSync(join(tmpdir(), "wirescope-posts-"));
  cleanups.push(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "socket");
  const local = await start(true, { path, posts });
  for (const [socket, listener] of [
    [secure, encrypted],
    [await openSocket({ path }), local],
  ] as const) {
    const { say, status, text } = converse(socket);
    say(post({}, "aé€") + post({}, "b"));
    expect(await status(2)).toBe(200);
    say("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    expect(await status(3)).toBe(200);
    const bodies = readAnswers(text()).map(({ body }) => body);
    expect(bodies).toEqual(["aé€".repeat(100_000), "b".repeat(100_000), "through Node"]);
    expect(listener.stats()).toMatchObject({ requestsStarted: 3, requestsOpen: 0 });
  }
  expect(seen).toEqual(["Wirescope test client", "Wirescope test client", "none", "none"]);
});
