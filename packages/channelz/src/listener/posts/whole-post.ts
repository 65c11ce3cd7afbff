import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import type { PostHead } from "./post-head.js";

/** A POST of HTTP/1.1 that has arrived whole. */
export class WholePost {
  readonly method = "POST";
  readonly url: string;
  /** Those of other requests, where they are the same. */
  readonly headers: Readonly<IncomingHttpHeaders>;
  readonly body: string;
  readonly socket: Socket;

  constructor({ path, headers }: PostHead, body: string, socket: Socket) {
    this.url = path;
    this.headers = headers;
    this.body = body;
    this.socket = socket;
  }
}
