import type { Outlet } from "../clients/outlet.js";
import type { RpcAnswer } from "../rpc/json-rpc.js";
import type { EventStream, EventStreams, HttpResponse } from "./event-streams.js";

/** The answer to one request of HTTP: JSON, or a stream of events as soon as something comes before the answer. */
export interface HttpOutlet extends Outlet {
  /** Headers that the answer carries, however it is given. */
  readonly headers: Record<string, string>;
}

export function createHttpOutlet(response: HttpResponse, streams: EventStreams): HttpOutlet {
  let stream: EventStream | undefined;
  const headers: Record<string, string> = {};
  return {
    headers,
    get isOpen() {
      return !response.writableEnded && !response.destroyed;
    },
    send(message) {
      stream ??= streams.open(response, headers);
      stream.send(message);
    },
    answer(message, status) {
      if (response.writableEnded || response.destroyed) return;
      if (stream === undefined) {
        sendJson(response, status, message, headers);
        return;
      }
      stream.send(message);
      stream.end();
    },
    end() {
      if (response.writableEnded || response.destroyed) return;
      stream ??= streams.open(response, headers);
      stream.end();
    },
  };
}

/** Answers with a message as JSON. */
export function sendJson(
  response: HttpResponse,
  status: number,
  message: RpcAnswer,
  headers: Readonly<Record<string, string>> = {},
): void {
  // Head and body leave in one write where the body is a text.
  const body = JSON.stringify(message);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    ...headers,
  });
  response.end(body);
}
