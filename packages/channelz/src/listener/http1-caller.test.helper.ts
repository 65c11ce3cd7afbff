import type { Socket } from "node:net";
import { onTestFinished } from "vitest";
import { createRegistry } from "../registry/registry.js";
import type { NodeRequest, NodeResponse } from "./connect-handler.js";
import { type ChannelzListener, type ListenOptions, listenChannelz } from "./listen.js";
import { eventually, openSocket, portOf } from "./raw-caller.test.helper.js";

/** The parts of an HTTP/1.1 response that tests compare. */
export interface Http1Response {
  readonly status: number;
  readonly body: string;
}

/** A listener whose responses a test controls. */
export interface Held {
  readonly listener: ChannelzListener;
  /** The bodies of the requests that were received completely, in order. */
  readonly bodies: string[];
  /** The responses that are due, in the order of the requests. */
  readonly due: NodeResponse[];
}

/** Starts a listener that holds the responses to bodies that start with "hold", and echoes all others. */
export async function startHeld(options: ListenOptions = {}): Promise<Held> {
  const bodies: string[] = [];
  const due: NodeResponse[] = [];
  const listener = await listenChannelz(createRegistry(), {
    fallback(request: NodeRequest, response: NodeResponse) {
      const chunks: Buffer[] = [];
      request.on("data", (chunk) => void chunks.push(chunk));
      request.on("end", () => {
        const body = Buffer.concat(chunks).toString();
        bodies.push(body);
        if (body.startsWith("hold")) due.push(response);
        else response.end(body);
      });
    },
    ...options,
  });
  onTestFinished(() => listener.close({ deadlineMs: 0 }));
  return { listener, bodies, due };
}

/** An HTTP/1.1 client that sends raw text. */
export interface Http1Caller {
  readonly socket: Socket;
  /** Waits for this number of responses. */
  responses(count: number): Promise<readonly Http1Response[]>;
  /** Waits for the end of the connection. */
  allResponses(): Promise<readonly Http1Response[]>;
}

/** Connects to a listener and sends text. */
export async function callHttp1({ address }: ChannelzListener, text = ""): Promise<Http1Caller> {
  const socket = await openSocket(portOf(address));
  onTestFinished(() => void socket.destroy());
  socket.setNoDelay(true);
  let received = "";
  socket.on("data", (chunk) => {
    received += chunk.toString("latin1");
  });
  if (text !== "") socket.write(text);
  return {
    socket,
    async responses(count) {
      await eventually(() => parseResponses(received).length >= count);
      return parseResponses(received);
    },
    async allResponses() {
      await eventually(() => socket.closed);
      return parseResponses(received);
    },
  };
}

/** A POST with a body of known length. */
export const post = (body: string, headers = ""): string =>
  `POST /mcp HTTP/1.1\r\nHost: localhost\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** The responses to requests that succeeded with these bodies. */
export const ok = (...bodies: string[]): Http1Response[] => bodies.map((body) => ({ status: 200, body }));

/** The complete responses in a string. One without a length has no body: the listener sends no other. */
function parseResponses(text: string): Http1Response[] {
  const responses: Http1Response[] = [];
  let rest = text;
  for (;;) {
    const end = rest.indexOf("\r\n\r\n");
    if (end < 0) return responses;
    const head = rest.slice(0, end);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    rest = rest.slice(end + 4);
    if (rest.length < length) return responses;
    responses.push({ status, body: Buffer.from(rest.slice(0, length), "latin1").toString() });
    rest = rest.slice(length);
  }
}
