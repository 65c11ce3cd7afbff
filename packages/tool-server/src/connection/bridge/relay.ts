import type { Readable, Writable } from "node:stream";
import { ToolServerError } from "../../errors.js";
import { cancelledIdOf, type RequestId, type RpcMessage, requestIdOf, responseIdOf } from "../rpc/json-rpc.js";
import { createLineReader } from "../rpc/lines.js";
import { parseMessages } from "../rpc/message.js";
import { isModernRequest } from "../transports/streamable-http-session.js";
import type { ToolTransport } from "../transports/transport.js";
import { createUpstream } from "./upstream.js";

export interface RelayOptions {
  /** A new transport to the server, not yet started. */
  readonly openTransport: () => ToolTransport;
  /** Where the client's messages come from, one a line, and where those of the server go. */
  readonly input: Readable;
  readonly output: Writable;
  /** The largest message that is read from the client, in bytes. */
  readonly messageBytes: number;
  readonly redact: (text: string) => string;
  /** What may be behind it where the server ends the connection and was never heard, as a sentence. */
  readonly hint: string;
  readonly onProblem: (text: string) => void;
  /** Whether the server may be replaced by another: its session is begun again at once, and the client asks for all lists again. */
  readonly isReplaceable?: boolean | undefined;
  /** Gets how to open another transport now. */
  readonly onStarted?: ((reopen: () => void) => void) | undefined;
}

/** How much may wait for a client that does not read before nothing more is read from it, in bytes. */
const maxUnreadBytes = 8 * 1024 * 1024;

/** What a request of JSON-RPC is answered with that failed on the way, by convention. */
const failedOnTheWay = -32_000;
const parseError = -32_700;

/** A request of the client on its way. */
interface OpenRequest {
  readonly controller: AbortController;
  readonly isModern: boolean;
}

/**
 * Carries messages between a client that speaks over pipes and a server behind a transport, without looking into them more
 * than that takes. Every request of the client is answered: by the server, or with an error that says why not. Resolves when
 * the client is gone, and then `input` is destroyed. Rejects with MESSAGE_TOO_LARGE where the client sends a message past the limit.
 */
export async function relay(options: RelayOptions): Promise<void> {
  const { openTransport, input, output, messageBytes, redact, hint, onProblem } = options;
  const open = new Map<RequestId, OpenRequest>();
  let transport: ToolTransport | undefined;
  let wasHeard = false;

  const write = (message: object): void => {
    output.write(`${JSON.stringify(message)}\n`);
    // A client that does not read is not read either, so that responses do not pile up here.
    if (output.writableLength < maxUnreadBytes || input.isPaused()) return;
    input.pause();
    output.once("drain", () => input.resume());
  };
  const refuse = (id: RequestId, error: unknown): void => {
    if (!open.delete(id)) return;
    const isUnheard = !wasHeard && ToolServerError.is(error, "CONNECTION_LOST");
    const message = redact(isUnheard ? `${messageOf(error)} ${hint}`.trim() : messageOf(error));
    onProblem(message);
    write({ jsonrpc: "2.0", id, error: { code: failedOnTheWay, message } });
  };
  const upstream = createUpstream({
    openTransport() {
      transport = openTransport();
      return transport;
    },
    onMessage(message) {
      wasHeard = true;
      const id = responseIdOf(message);
      if (id !== undefined) open.delete(id);
      write(message);
    },
    onLost(requests, failure) {
      for (const id of requests) refuse(id, failure);
    },
    onProblem,
    isEager: options.isReplaceable,
    onReopened() {
      if (!options.isReplaceable) return;
      for (const list of ["tools", "prompts", "resources"]) {
        write({ jsonrpc: "2.0", method: `notifications/${list}/list_changed` });
      }
    },
  });
  options.onStarted?.(upstream.reopen);

  const cancel = (id: RequestId, message: RpcMessage): void => {
    const request = open.get(id);
    open.delete(id);
    request?.controller.abort();
    // Where each request has a stream of its own, the newer era calls it off by the end of that; the older one is told.
    if (transport?.hasPerRequestStream !== true || request?.isModern !== true) tell(message);
  };
  const tell = (message: RpcMessage): void => {
    upstream.send(message).catch((error: unknown) => onProblem(messageOf(error)));
  };
  const forward = (message: RpcMessage): void => {
    const cancelled = cancelledIdOf(message);
    const id = requestIdOf(message);
    if (cancelled !== undefined) {
      cancel(cancelled, message);
    } else if (id === undefined) {
      tell(message);
    } else {
      const controller = new AbortController();
      open.set(id, { controller, isModern: isModernRequest(message) });
      upstream.send(message, controller.signal).catch((error: unknown) => refuse(id, error));
    }
  };

  try {
    await new Promise<void>((resolve, reject) => {
      const reader = createLineReader(
        messageBytes,
        (line) => {
          const messages = parseMessages(line);
          if (messages === undefined)
            write({ jsonrpc: "2.0", id: null, error: { code: parseError, message: notJson } });
          for (const message of messages ?? []) forward(message);
        },
        () => reject(tooLarge(messageBytes)),
      );
      input.on("data", (chunk: Buffer) => reader.push(chunk));
      input.once("end", () => {
        reader.end();
        resolve();
      });
      input.once("close", resolve);
      input.on("error", () => resolve());
      output.on("error", () => resolve());
    });
  } finally {
    // Nobody is there to be answered.
    open.clear();
    input.destroy();
    await upstream.close();
  }
}

const notJson = "The line is no message of JSON-RPC.";

function tooLarge(limitBytes: number): ToolServerError {
  const problem = `The client sent a message of more than ${limitBytes} bytes, so nothing more is read from it.`;
  const parts = { problem, advice: "Send smaller messages." };
  return new ToolServerError("MESSAGE_TOO_LARGE", parts, { details: { wasSent: false } });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
