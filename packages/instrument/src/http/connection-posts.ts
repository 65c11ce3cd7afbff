import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { PostAnswer, PostObserver } from "@wirescope/channelz";
import type { ServerConnection } from "./server-connection.js";
import { shownConnection } from "./server-requests.js";

/** The posts of one connection that are none of Node's requests: each is counted where its server is shown when it comes. */
export class ConnectionPosts implements PostObserver {
  readonly #server: Server;
  readonly #socket: Socket;
  /** Where the one that is under way is counted. */
  #connection: ServerConnection | undefined;

  constructor(server: Server, socket: Socket) {
    this.#server = server;
    this.#socket = socket;
    this.#connection = shownConnection(server, socket);
  }

  received(hasBody: boolean): void {
    this.#connection = shownConnection(this.#server, this.#socket);
    this.#connection?.posted(hasBody);
  }

  ended(answer: PostAnswer): void {
    this.#connection?.answered(answer);
  }
}
