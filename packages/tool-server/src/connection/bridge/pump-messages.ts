import type { Readable, Writable } from "node:stream";
import { messageOf, ToolServerError } from "../../errors.js";
import { type RequestId, rpcCodes } from "../rpc/json-rpc.js";
import { createLineReader } from "../rpc/lines.js";
import { parseMessages } from "../rpc/message.js";
import type { ToolTransport } from "../transports/transport.js";
import { createRemote } from "./remote.js";

export interface PumpOptions {
  /** A new transport to the server, not yet started. */
  readonly openTransport: () => ToolTransport;
  /** The client's messages, one per line, and the destination of the server's messages. */
  readonly input: Readable;
  readonly output: Writable;
  /** The maximum size of a message from the client, in bytes. */
  readonly messageBytes: number;
  readonly redact: (text: string) => string;
  /** A likely reason, as a sentence, for a connection that the server closes before it sent anything. */
  readonly hint: string;
  readonly onProblem: (text: string) => void;
  /** Called after a client request got an error response because it could not be forwarded. */
  readonly onRefused?: (() => void) | undefined;
  /** Whether the server may be replaced: then a new session starts at once, and the client is asked to refresh all lists. */
  readonly isReplaceable?: boolean | undefined;
  /** Called with a function that opens another transport now. */
  readonly onStarted?: ((reopen: () => void) => void) | undefined;
}

/** How much may be buffered for a client that does not read, in bytes, before reading from it is paused. */
const maxUnreadBytes = 8 * 1024 * 1024;

/**
 * Forwards messages between a client on pipes and a server behind a transport. Every client request gets a response: from
 * the server, or an error with the reason. Resolves when the client is gone, and destroys `input`. Rejects with
 * MESSAGE_TOO_LARGE if the client sends a message above the limit.
 */
export async function pumpMessages(options: PumpOptions): Promise<void> {
  const { openTransport, input, output, messageBytes, redact, hint, onProblem } = options;
  let hasReceived = false;

  const write = (message: object): void => {
    output.write(`${JSON.stringify(message)}\n`);
    // Stops reading from a client that does not read, so that responses do not accumulate.
    if (output.writableLength < maxUnreadBytes || input.isPaused()) return;
    input.pause();
    output.once("drain", () => input.resume());
  };
  const refuse = (id: RequestId, error: unknown): void => {
    const isFirstContact = !hasReceived && ToolServerError.is(error, "CONNECTION_LOST");
    const message = redact(isFirstContact ? `${messageOf(error)} ${hint}`.trim() : messageOf(error));
    onProblem(message);
    write({ jsonrpc: "2.0", id, error: { code: rpcCodes.failed, message } });
    options.onRefused?.();
  };
  const remote = createRemote({
    openTransport,
    onMessage(message) {
      hasReceived = true;
      write(message);
    },
    onFailed: refuse,
    onProblem,
    isEager: options.isReplaceable,
    onReopened() {
      if (!options.isReplaceable) return;
      for (const list of ["tools", "prompts", "resources"]) {
        write({ jsonrpc: "2.0", method: `notifications/${list}/list_changed` });
      }
    },
  });
  options.onStarted?.(remote.reopen);

  try {
    await new Promise<void>((resolve, reject) => {
      const reader = createLineReader(
        messageBytes,
        (line) => {
          const messages = parseMessages(line);
          if (messages === undefined)
            write({ jsonrpc: "2.0", id: null, error: { code: rpcCodes.parseError, message: notJson } });
          for (const message of messages ?? []) void remote.send(message);
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
    input.destroy();
    // The client is gone, so no response is needed.
    await remote.close();
  }
}

const notJson = "The line is not a JSON-RPC message.";

function tooLarge(limitBytes: number): ToolServerError {
  const problem = `The client sent a message of more than ${limitBytes} bytes, so nothing more is read from it.`;
  const parts = { problem, advice: "Send smaller messages." };
  return new ToolServerError("MESSAGE_TOO_LARGE", parts, { details: { wasSent: false } });
}
