import type { Socket } from "node:net";
import type { Connection, Connections } from "../connections.js";
import type { ListenLimits } from "../limits.js";
import type { Received, Reception } from "../reception.js";
import { PostAnswer } from "./post-answer.js";
import { type PostHead, readPostHead } from "./post-head.js";
import { WholePost } from "./whole-post.js";

/** Answers a POST that has arrived whole. */
export type PostHandler = (request: WholePost, response: PostAnswer) => void;

/** Is told of the posts of one connection, in order. */
export interface PostObserver {
  received(hasBody: boolean): void;
  ended(end: PostAnswer): void;
}

export interface PostLaneOptions {
  readonly connections: Connections;
  readonly reception: Reception;
  readonly limits: ListenLimits;
  /** Who answers, by path. */
  readonly posts: ReadonlyMap<string, PostHandler>;
  readonly observe: ((socket: Socket) => PostObserver | undefined) | undefined;
  /** Takes a connection over for good, with what it has sent. */
  readonly leaveToNode: (connection: Connection) => void;
  /** Refuses a request that ended before it was whole. */
  readonly cutOff: (connection: Connection) => void;
}

/** The most that a post may have, head and body, in bytes: what is larger does not come at once anyway. */
const mostBytes = 65_536;
/** In how many pieces it may come: its head and its body are often two. */
const mostPieces = 8;
/** How long the rest of a post may take, in milliseconds. */
const patienceMs = 1000;

const headEnd = Buffer.from("\r\n\r\n");

/**
 * Serves the plain posts of a connection without Node's server, which takes longer for one than everything else that the listener
 * does for it. It knows no more of HTTP than one form of one request. Whatever is not that, right or wrong, or is not there in a
 * moment, is left to Node's server from its first byte on, and with it the connection.
 */
export function servePosts(options: PostLaneOptions, connection: Connection): void {
  new PostLane(options, connection).begin();
}

class PostLane {
  readonly #options: PostLaneOptions;
  readonly #connection: Connection;
  readonly #socket: Socket;
  readonly #observer: PostObserver | undefined;
  /** What has come and is not taken yet. */
  #held: Buffer | undefined;
  #pieces = 0;
  #timer: NodeJS.Timeout | undefined;
  /** The head of the last post: most callers say the same each time. */
  #head: PostHead | undefined;
  #answer: PostAnswer | undefined;
  #received: Received | undefined;
  #isServing = false;
  /** Whether it was left to Node, or to its end. */
  #isOver = false;

  constructor(options: PostLaneOptions, connection: Connection) {
    this.#options = options;
    this.#connection = connection;
    this.#socket = connection.socket;
    this.#observer = options.observe?.(this.#socket);
  }

  begin(): void {
    this.#connection.awaiting = "request";
    this.#socket.on("data", this.#onData);
    this.#socket.on("end", this.#onEnd);
    this.#socket.on("close", this.#onClose);
    this.#socket.resume();
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#held = this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk]);
    this.#pieces += 1;
    if (this.#answer === undefined) this.#serve();
    // Who does not wait for an answer before it asks again waits now. Not sooner: who is not read from cannot be seen to go away.
    else if (!this.#hasRoom()) this.#socket.pause();
  };

  readonly #onEnd = (): void => {
    if (this.#answer === undefined) this.#serve();
    if (this.#answer === undefined) this.#leaveToNode();
  };

  readonly #onClose = (): void => {
    clearTimeout(this.#timer);
    this.#held = undefined;
    this.#answer?.connectionClosed();
  };

  #hasRoom(): boolean {
    return this.#held === undefined || (this.#pieces < mostPieces && this.#held.length < mostBytes);
  }

  /** Takes the posts that are held, until one is not answered at once. */
  readonly #serve = (): void => {
    // One after the other, and not from within the answer to the one before: there may be a thousand.
    if (this.#isServing) return;
    this.#isServing = true;
    try {
      while (this.#held !== undefined && this.#answer === undefined && this.#takePost(this.#held));
    } finally {
      this.#isServing = false;
    }
    if (this.#socket.isPaused() && !this.#isOver && this.#hasRoom()) this.#socket.resume();
  };

  /** Takes the next post, if it is there; says whether it was. */
  #takePost(bytes: Buffer): boolean {
    if (this.#socket.destroyed || this.#socket.writableEnded) return false;
    const end = bytes.indexOf(headEnd);
    const head =
      end < 0 || end > this.#options.limits.maxHeaderBytes ? undefined : this.#headOf(bytes.toString("latin1", 0, end));
    const handler = head && this.#options.posts.get(head.path);
    const start = end + headEnd.length;
    if (head === undefined || handler === undefined || start + head.bodyBytes > mostBytes) {
      this.#leaveToNode();
      return false;
    }
    const length = start + head.bodyBytes;
    if (bytes.length < length) {
      if (this.#pieces >= mostPieces) this.#leaveToNode();
      else this.#awaitRest();
      return false;
    }
    this.#held = bytes.length > length ? bytes.subarray(length) : undefined;
    this.#pieces = 0;
    this.#receive(new WholePost(head, bytes.toString("utf8", start, length), this.#socket), handler);
    return true;
  }

  #headOf(text: string): PostHead | undefined {
    if (this.#head?.text !== text) this.#head = readPostHead(text);
    return this.#head;
  }

  /** For a moment: after that, Node's server keeps the time. */
  #awaitRest(): void {
    const { connections, limits } = this.#options;
    connections.expect(this.#connection);
    this.#timer ??= setTimeout(this.#leaveToNode, Math.min(patienceMs, limits.requestTimeoutMs)).unref();
  }

  #receive(post: WholePost, handler: PostHandler): void {
    if (this.#timer !== undefined) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    const { reception } = this.#options;
    const answer = new PostAnswer(this.#socket, this.#onAnswerEnd);
    this.#answer = answer;
    this.#observer?.received(post.body !== "");
    const received = reception.receive(this.#connection, undefined, post);
    this.#received = received;
    const atOnce = reception.answerAtOnce(received);
    if (atOnce === undefined) {
      reception.welcome(received, answer);
      handler(post, answer);
    } else {
      answer.writeHead(atOnce.statusCode, { ...atOnce.headers, connection: "close" });
      // Byte for byte, whatever protocol it is of.
      answer.end(atOnce.body.toString("latin1"), "latin1");
    }
  }

  readonly #onAnswerEnd = (answer: PostAnswer): void => {
    const received = this.#received;
    this.#answer = undefined;
    this.#received = undefined;
    if (answer.isLast) this.#letGo();
    // Where the listener closes, this one is not the last then.
    else if (this.#held?.includes(headEnd)) this.#options.connections.expect(this.#connection);
    this.#observer?.ended(answer);
    if (received !== undefined) this.#options.reception.finish(received);
    if (answer.isLast) this.#socket.destroySoon();
    else if (this.#held !== undefined && !this.#isServing) process.nextTick(this.#serve);
  };

  readonly #leaveToNode = (): void => {
    const held = this.#held;
    this.#letGo();
    if (held === undefined || this.#socket.destroyed) return;
    // What has ended takes nothing back.
    if (this.#socket.readableEnded) {
      this.#options.cutOff(this.#connection);
      return;
    }
    this.#socket.pause();
    this.#socket.unshift(held);
    this.#options.leaveToNode(this.#connection);
  };

  #letGo(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#held = undefined;
    this.#socket.off("data", this.#onData);
    this.#socket.off("end", this.#onEnd);
    this.#socket.off("close", this.#onClose);
  }
}
