import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";
import { ToolServerError } from "../errors.js";
import { answeredIdOf, cancelledIdOf, parseMessages, requestIdOf } from "../transports/json-rpc.js";
import { createLineReader } from "../transports/stdio-lines.js";
import type { ToolTransport } from "../transports/transport.js";

export interface RelayOptions {
  /** The way to the server, not yet started. */
  readonly transport: ToolTransport;
  /** Where the client's messages come from, one a line, and where those of the server go. */
  readonly input: Readable;
  readonly output: Writable;
  /** The largest message that is read from the client, in bytes. */
  readonly messageBytes: number;
  readonly onProblem: (text: string) => void;
}

/** What a request of JSON-RPC is answered with that failed on the way, by convention. */
const failedOnTheWay = -32_000;
const parseError = -32_700;

/**
 * Carries messages between a client that speaks over pipes and a server behind a transport, without looking into them more
 * than that takes. Every request of the client is answered: by the server, or with an error that says why not. Resolves when
 * the client is gone. Rejects with the failure of the transport where the server is, or could not be reached at all.
 */
export async function relay(options: RelayOptions): Promise<void> {
  const { transport, input, output, messageBytes, onProblem } = options;
  const open = new Map<RequestId, AbortController>();
  let initialization: RequestId | undefined;

  const write = (message: JSONRPCMessage): void => {
    output.write(`${JSON.stringify(message)}\n`);
  };
  const refuse = (id: RequestId, error: unknown): void => {
    if (!open.delete(id)) return;
    const message = error instanceof Error ? error.message : String(error);
    write({ jsonrpc: "2.0", id, error: { code: failedOnTheWay, message } });
  };
  const forward = (message: JSONRPCMessage): void => {
    const id = requestIdOf(message);
    if (id === undefined) {
      const cancelled = cancelledIdOf(message);
      // Where each request has a stream of its own, its end is what calls it off; a server of the older era is told besides.
      const controller = cancelled === undefined ? undefined : open.get(cancelled);
      transport.send(message).catch((error: unknown) => onProblem(messageOf(error)));
      if (cancelled !== undefined) open.delete(cancelled);
      controller?.abort();
      return;
    }
    if ("method" in message && message.method === "initialize") initialization = id;
    const controller = new AbortController();
    open.set(id, controller);
    transport.send(message, { requestSignal: controller.signal }).catch((error: unknown) => refuse(id, error));
  };

  const closed = new Promise<void>((resolve, reject) => {
    transport.onclose = () => {
      const failure = transport.failure;
      for (const id of [...open.keys()]) refuse(id, failure ?? lost());
      if (failure === undefined) resolve();
      else reject(failure);
    };
  });
  closed.catch(() => {});
  transport.onerror = (error) => onProblem(error.message);
  transport.onmessage = (message) => {
    const id = answeredIdOf(message);
    if (id !== undefined) {
      if (id === initialization) adoptVersion(message, transport);
      open.delete(id);
    }
    write(message);
  };
  await transport.start();

  const reader = createLineReader(
    messageBytes,
    (line) => {
      const messages = parseMessages(line);
      if (messages === undefined) {
        output.write(
          `${JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: parseError, message: notJson } })}\n`,
        );
        return;
      }
      for (const message of messages) forward(message);
    },
    () => {
      onProblem(`The client sent a message of more than ${messageBytes} bytes, and is not heard any more.`);
      input.destroy();
    },
  );
  input.on("data", (chunk: Buffer) => reader.push(chunk));
  const gone = new Promise<void>((resolve) => {
    input.once("end", () => {
      reader.end();
      resolve();
    });
    input.once("close", resolve);
    output.once("error", () => resolve());
  });
  await Promise.race([gone, closed]);
  await transport.close();
}

const notJson = "The line is no message of JSON-RPC.";

/** From the handshake of the older era on, the transport names the version that was agreed on. */
function adoptVersion(message: JSONRPCMessage, transport: ToolTransport): void {
  const version = "result" in message ? message.result.protocolVersion : undefined;
  if (typeof version === "string") transport.setProtocolVersion?.(version);
}

function lost(): ToolServerError {
  return new ToolServerError("CONNECTION_LOST", "The connection to the server ended.");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
