import type { Socket } from "node:net";
import { createRegistry } from "../../registry/registry.js";
import type { NodeRequest, NodeResponse } from "../connect-handler.js";
import { type ChannelzListener, type ListenOptions, listenChannelz } from "../listen.js";
import { eventually, openSocket, portOf } from "../raw-caller.test.helper.js";
import type { PostHandler } from "./post-lane.js";
import type { WholePost } from "./whole-post.js";

/** What an answer comes down to. */
export interface Told {
  readonly status: number;
  readonly body: string;
}

/** What a caller got for what it sent. */
export interface Heard {
  readonly answers: readonly Told[];
  readonly isClosed: boolean;
  /** Whether the end was a reset, which may take what came before with it. */
  readonly isReset: boolean;
}

interface Answer {
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
  write(text: string): unknown;
  end(text?: string): unknown;
}

/** Answers with what was asked, in the way that its header `x-how` says. */
function echo(
  request: Pick<NodeRequest, "method" | "url" | "headers">,
  body: string,
  response: Answer,
  onHandled: () => void,
): void {
  const text = JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body });
  const how = request.headers["x-how"];
  const answer = (): void => {
    onHandled();
    response.writeHead(200, { "content-type": "application/json", ...(how === "last" && { connection: "close" }) });
    if (how === "parts") for (const part of text.match(/.{1,40}/gs) ?? []) response.write(part);
    response.end(how === "parts" ? "" : text);
  };
  if (how === "later") setImmediate(answer);
  else if (how === "soon") void Promise.resolve().then(answer);
  else answer();
}

/** A listener that answers with what it was asked. */
export interface Echo {
  readonly listener: ChannelzListener;
  /** How many posts it answered past Node's server. */
  readonly postsPastNode: () => number;
  /** The heads of the requests that began on each open connection, by the port of its caller. */
  readonly begun: Map<number, string[]>;
}

/** What a request says before its body. */
export function headOf({ method, url, headers }: Pick<NodeRequest, "method" | "url" | "headers">): string {
  return JSON.stringify({ method, url, headers });
}

/** Starts a listener that takes plain posts to `/mcp` past Node's server, or one that does not. */
export async function startEcho(takesPosts: boolean, options: ListenOptions = {}): Promise<Echo> {
  let pastNode = 0;
  const begun = new Map<number, string[]>();
  const bySocket = new WeakMap<Socket, string[]>();
  const note = (request: NodeRequest | WholePost): void => {
    const { socket } = request;
    // A port may have been another caller's before.
    let heads = bySocket.get(socket);
    if (heads === undefined) {
      heads = [];
      bySocket.set(socket, heads);
      begun.set(socket.remotePort ?? 0, heads);
    }
    heads.push(headOf(request));
  };
  const post: PostHandler = (request, response) => {
    note(request);
    echo(request, request.body, response, () => pastNode++);
  };
  const listener = await listenChannelz(createRegistry(), {
    ...options,
    ...(takesPosts && { posts: { "/mcp": post } }),
    fallback(request: NodeRequest, response: NodeResponse) {
      note(request);
      const chunks: Buffer[] = [];
      request.on("data", (chunk) => void chunks.push(chunk));
      request.on("end", () => echo(request, Buffer.concat(chunks).toString(), response as Answer, () => {}));
    },
  });
  return { listener, postsPastNode: () => pastNode, begun };
}

/** A caller of bytes. */
export interface Caller {
  readonly port: number;
  send(bytes: Buffer): void;
  end(): void;
  heard(): Heard;
  destroy(): void;
}

export async function openCaller({ address }: ChannelzListener): Promise<Caller> {
  const socket = await openSocket(address.startsWith("unix:") ? { path: address.slice(5) } : portOf(address));
  socket.setNoDelay(true);
  let text = "";
  let isReset = false;
  socket.on("error", () => {
    isReset = true;
  });
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
  });
  return {
    port: socket.localPort ?? 0,
    send: (bytes) => void socket.write(bytes),
    end: () => void socket.end(),
    heard: () => ({ answers: readAnswers(text, socket.closed), isClosed: socket.closed, isReset }),
    destroy: () => void socket.destroy(),
  };
}

/** The whole answers of a text. */
export function readAnswers(text: string, isClosed = false): Told[] {
  const answers: Told[] = [];
  let rest = text;
  while (rest !== "") {
    const end = rest.indexOf("\r\n\r\n");
    if (end < 0) break;
    const head = rest.slice(0, end);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? Number.NaN);
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
    rest = rest.slice(end + 4);
    if (/\r\ntransfer-encoding: chunked/i.test(head)) {
      const body = readChunks(rest);
      if (body === undefined) break;
      answers.push({ status, body: utf8(body.text) });
      rest = body.rest;
    } else if (length !== undefined) {
      if (rest.length < Number(length)) break;
      answers.push({ status, body: utf8(rest.slice(0, Number(length))) });
      rest = rest.slice(Number(length));
    } else if (status < 200 || status === 204) answers.push({ status, body: "" });
    else {
      if (isClosed) answers.push({ status, body: utf8(rest) });
      break;
    }
  }
  return answers;
}

function readChunks(text: string): { text: string; rest: string } | undefined {
  let body = "";
  let rest = text;
  for (;;) {
    const size = /^([0-9a-f]+)\r\n/.exec(rest);
    if (size === null) return undefined;
    const start = size[0].length;
    const length = Number.parseInt(size[1] as string, 16);
    if (rest.length < start + length + 2) return undefined;
    if (rest.slice(start + length, start + length + 2) !== "\r\n") throw new Error(`No chunk ends here: ${rest}`);
    body += rest.slice(start, start + length);
    rest = rest.slice(start + length + 2);
    if (length === 0) return { text: body, rest };
  }
}

const utf8 = (latin1: string): string => Buffer.from(latin1, "latin1").toString();

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Lets some turns of the loop pass in which nothing comes. */
export async function quiet(callers: readonly Caller[], turns = 4): Promise<void> {
  const state = (): string => JSON.stringify(callers.map((caller) => caller.heard()));
  let before = state();
  for (let left = turns; left > 0; left--) {
    await turn();
    const now = state();
    if (now !== before) left = turns + 1;
    before = now;
  }
}

/** Sends the same to all, in pieces that arrive as such. */
export async function sendInPieces(callers: readonly Caller[], pieces: readonly Buffer[]): Promise<void> {
  for (const [index, piece] of pieces.entries()) {
    if (index > 0) for (let turns = 0; turns < 2; turns++) await turn();
    for (const caller of callers) caller.send(piece);
  }
}

/** Waits until each has so many answers, or its connection is closed. */
export async function answered(callers: readonly Caller[], count: number): Promise<void> {
  const isSo = (caller: Caller): boolean => caller.heard().isClosed || caller.heard().answers.length >= count;
  for (let turns = 0; turns < 200; turns++) {
    if (callers.every(isSo)) return;
    await turn();
  }
  await eventually(() => callers.every(isSo));
}
