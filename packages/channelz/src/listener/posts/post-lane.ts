import type { Socket } from "node:net";
import type { Connection } from "../connections.js";
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
  readonly reception: Reception;
  readonly limits: ListenLimits;
  /** Who answers, by path. */
  readonly posts: ReadonlyMap<string, PostHandler>;
  readonly observe: ((socket: Socket) => PostObserver | undefined) | undefined;
  /** Takes a connection over for good, with what it has sent. */
  readonly leaveToNode: (connection: Connection) => void;
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

  constructor(options: PostLaneOptions, connection: Connection) {
    this.#options = options;
    this.#connection = connection;
    this.#socket = connection.socket;
    this.#observer = options.observe?.(this.#socket);
  }

  begin(): void {
    this.#connection.awaiting = "request";
    this.#socket.on("data", this.#onData);
    this.#socket.on("close", this.#onClose);
    this.#socket.resume();
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#held = this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk]);
    this.#pieces += 1;
    // Who does not wait for an answer before it asks again waits now.
    if (this.#answer === undefined) this.#serve();
    else this.#socket.pause();
  };

  readonly #onClose = (): void => {
    clearTimeout(this.#timer);
    this.#held = undefined;
    this.#answer?.connectionClosed();
  };

  /** Takes the next post of what is held, if it is there. */
  #serve(): void {
    const bytes = this.#held;
    if (bytes === undefined || this.#socket.destroyed || this.#socket.writableEnded) return;
    const end = bytes.indexOf(headEnd);
    const head =
      end < 0 || end > this.#options.limits.maxHeaderBytes ? undefined : this.#headOf(bytes.toString("latin1", 0, end));
    const handler = head && this.#options.posts.get(head.path);
    if (head === undefined || handler === undefined) {
      this.#leaveToNode();
      return;
    }
    const start = end + headEnd.length;
    const length = start + head.bodyBytes;
    if (length > mostBytes) this.#leaveToNode();
    else if (bytes.length >= length) {
      this.#held = bytes.length > length ? bytes.subarray(length) : undefined;
      this.#pieces = 0;
      this.#receive(new WholePost(head, bytes.toString("utf8", start, length), this.#socket), handler);
    } else if (this.#pieces >= mostPieces) this.#leaveToNode();
    else this.#timer ??= setTimeout(this.#leaveToNode, patienceMs).unref();
  }

  #headOf(text: string): PostHead | undefined {
    if (this.#head?.text !== text) this.#head = readPostHead(text);
    return this.#head;
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
    this.#observer?.ended(answer);
    if (received !== undefined) this.#options.reception.finish(received);
    if (answer.isLast) {
      this.#letGo();
      this.#socket.destroySoon();
    } else if (this.#held !== undefined) {
      // Not from within the answer to the one before, for that may go on for as long as there are more.
      setImmediate(this.#goOn);
    }
  };

  readonly #goOn = (): void => {
    this.#serve();
    if (this.#answer === undefined) this.#socket.resume();
  };

  readonly #leaveToNode = (): void => {
    const held = this.#held;
    this.#letGo();
    if (held === undefined || this.#socket.readableEnded) return;
    this.#socket.pause();
    this.#socket.unshift(held);
    this.#options.leaveToNode(this.#connection);
  };

  #letGo(): void {
    clearTimeout(this.#timer);
    this.#held = undefined;
    this.#socket.off("data", this.#onData);
    this.#socket.off("close", this.#onClose);
  }
}
