import { type IncomingMessage, request } from "node:http";
import { Duplex } from "node:stream";
import { AnswerDefect, SocketClosed } from "./answer-defect.js";
import { AnswerParser } from "./answer-parser.js";

/** What was understood of the bytes of an answer. */
export interface ParsedAnswer {
  /**
   * `complete` where the answer came to its end, `cut-off` where more of it was to come when the connection ended, and `refused` where
   * it is not one.
   */
  readonly outcome: "complete" | "cut-off" | "refused";
  /** Undefined where no head came. */
  readonly status: number | undefined;
  /** By name in lower case; several of one name are joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  /** What came of the body. */
  readonly body: string;
  /** Whether the connection can be used for another request; undefined where the answer is not complete. */
  readonly isKept: boolean | undefined;
}

/** Our own reading of an answer that comes in these pieces, before the connection ends. */
export function parseAnswer(pieces: readonly Buffer[]): ParsedAnswer {
  let status: number | undefined;
  let headers: ParsedAnswer["headers"] = {};
  let isKept: boolean | undefined;
  const body: Buffer[] = [];
  const parser = new AnswerParser({
    onHead(head) {
      if (status !== undefined) throw new Error("There are two heads.");
      status = head.status;
      headers = { ...head.headers };
    },
    onBody(piece) {
      if (status === undefined || isKept !== undefined || piece.length === 0) throw new Error("No body is due.");
      body.push(piece);
    },
    onEnd(clean) {
      if (status === undefined || isKept !== undefined) throw new Error("No end is due.");
      isKept = clean;
    },
  });
  const parsed = (outcome: ParsedAnswer["outcome"]) => {
    return { outcome, status, headers, body: Buffer.concat(body).toString("latin1"), isKept };
  };
  parser.begin();
  try {
    for (const piece of pieces) {
      parser.push(piece);
      // What comes after an answer, in another piece, is nobody's.
      if (isKept !== undefined) return parsed("complete");
    }
    parser.end();
  } catch (error) {
    if (isKept !== undefined) return parsed("complete");
    if (error instanceof AnswerDefect) return parsed("refused");
    if (error instanceof SocketClosed) return parsed("cut-off");
    throw error;
  }
  return parsed("complete");
}

/** What Node's own client, which is strict here, makes of the same bytes. */
export function parseWithNode(bytes: Buffer): Promise<ParsedAnswer> {
  return new Promise((resolve) => {
    let status: number | undefined;
    const seen: Record<string, string> = Object.create(null);
    const body: Buffer[] = [];
    const settle = (outcome: ParsedAnswer["outcome"]): void => {
      const text = Buffer.concat(body).toString("latin1");
      resolve({
        outcome,
        status,
        headers: { ...seen },
        body: text,
        isKept: outcome === "complete" ? isKept : undefined,
      });
    };
    let isKept = false;
    const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
    const headers = { connection: "keep-alive" };
    const asked = request({ method: "GET", headers, createConnection: () => socket, insecureHTTPParser: false });
    let answered: IncomingMessage | undefined;
    const onError = (error: Error & { code?: string }): void => {
      // What is wrong with the bytes after an answer is not wrong with it.
      if (answered?.complete) return;
      settle(error.code?.startsWith("HPE_") ? "refused" : "cut-off");
    };
    asked.on("error", onError);
    asked.on("upgrade", () => settle("refused"));
    asked.on("response", (answer) => {
      answered = answer;
      status = answer.statusCode;
      isKept = asked.shouldKeepAlive;
      for (let at = 0; at < answer.rawHeaders.length; at += 2) {
        const [name = "", value = ""] = [answer.rawHeaders[at]?.toLowerCase(), answer.rawHeaders[at + 1]];
        const earlier = seen[name];
        seen[name] = earlier === undefined || name === "set-cookie" ? value : `${earlier}, ${value}`;
      }
      answer.on("data", (piece: Buffer) => body.push(piece));
      answer.on("error", onError);
      answer.on("close", () => settle(answer.complete ? "complete" : "cut-off"));
    });
    asked.end(() => {
      socket.push(bytes);
      socket.push(null);
    });
  });
}
