import type { Readable, Writable } from "node:stream";
import type { ToolServerError } from "../../errors.js";
import { lostConnection } from "../connection-failures.js";
import { createLineReader } from "../rpc/lines.js";
import { parseMessages } from "../rpc/message.js";
import { defaultLimits, type ToolTransport } from "../transports/transport.js";
import { connectionOver, createTransportLife, deliver } from "../transports/transport-life.js";

/**
 * Creates a transport to a server in this process, one message per line: `output` is what the server reads, and `input` what it writes. It
 * ends with `input`. `close` ends `output`, and resolves once the server has ended `input`.
 */
export function createPipeTransport(server: string, input: Readable, output: Writable): ToolTransport {
  const life = createTransportLife(server);
  const inputEnded = new Promise<void>((resolve) => input.once("close", resolve));
  const end = (failure?: ToolServerError): void => {
    if (!life.end(failure)) return;
    output.end();
    transport.onclose?.();
  };
  const onLine = (line: string): void => {
    for (const message of parseMessages(line) ?? []) deliver(transport, message);
  };
  const transport: ToolTransport = {
    kind: "stdio",
    get failure() {
      return life.failure;
    },
    async start() {
      life.begin();
      const lines = createLineReader(defaultLimits.messageBytes, onLine, () => {});
      input.on("data", (chunk: Buffer) => lines.push(chunk));
      input.once("end", () => lines.end());
      input.once("close", () => {
        end(lostConnection(server));
      });
    },
    async send(message) {
      life.assertOpen();
      if (output.writableEnded || output.destroyed) throw connectionOver(server, life.failure, false);
      output.write(`${JSON.stringify(message)}\n`);
    },
    async close() {
      end();
      // A stream that is not read never closes.
      input.resume();
      await inputEnded;
    },
  };
  return transport;
}
