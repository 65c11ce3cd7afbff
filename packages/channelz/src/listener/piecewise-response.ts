import { Http2ServerResponse, type ServerHttp2Stream } from "node:http2";
import { pieceBytes, piecesFor, sendOneByOne } from "../service/write-in-pieces.js";
import type { Exchange } from "./connection.js";

type OnWritten = (error: Error) => void;

/** A response of HTTP/2 that counts what it is given, and whose stream shows how much of that has been taken. */
export class PiecewiseResponse extends Http2ServerResponse {
  readonly #exchange: Exchange;

  readonly #onWritten: () => void;

  constructor(stream: ServerHttp2Stream, exchange: Exchange, onWritten: () => void) {
    super(stream);
    this.#exchange = exchange;
    this.#onWritten = onWritten;
  }

  /** As Node's. What `end` is given comes here as well. */
  override write(chunk: string | Uint8Array, callback?: OnWritten): boolean;
  override write(chunk: string | Uint8Array, encoding?: BufferEncoding, callback?: OnWritten): boolean;
  override write(given: string | Uint8Array, second?: BufferEncoding | OnWritten, callback?: OnWritten): boolean {
    const encoding = second as BufferEncoding;
    if (!(given.length > pieceBytes)) {
      this.#exchange.given += given.length;
      if (this.stream.writableLength > pieceBytes) sendOneByOne(this.stream);
      const isTaken = super.write(given, encoding, callback);
      this.#onWritten();
      return isTaken;
    }
    const bytes = typeof given === "string" ? Buffer.from(given, typeof second === "string" ? second : "utf8") : given;
    this.#exchange.given += bytes.length;
    const pieces = piecesFor(this.stream, bytes);
    const last = pieces.pop() as Uint8Array;
    for (const piece of pieces) super.write(piece);
    const isTaken = super.write(last, encoding, callback);
    this.#onWritten();
    return isTaken;
  }
}
