import type { Mutable } from "../../mutable.js";
import { quotedWords } from "../../printable-text.js";
import { redactStart } from "../../secrets/redactor.js";
import type { TransportContext } from "./transport.js";

const maxQuoted = 200;

/** Text from a server that is not a protocol message: a log line on standard output, a banner. */
export interface JsonRpcStrays {
  /** Records one. False if more arrived in a row than a message may contain: then this is not a tool server. */
  add(text: string): boolean;
  /** A message was received: starts counting again. */
  interrupt(): void;
  /** The first one, quoted, and the advice; undefined if there was none. */
  readonly earliest: string | undefined;
  /** Describes what was received since the last message, as a sentence for an error; empty if nothing was. */
  describe(): string;
}

/** Tolerates stray text from a server and reports the first. `place` is where it was written: `its standard output`. */
export function createJsonRpcStrays(context: TransportContext, place: string, advice: string): JsonRpcStrays {
  const { info, secrets, report, limits } = context;
  let hasSpoken = false;
  // Since the last message.
  let count = 0;
  let length = 0;
  let first = "";
  const strays: Mutable<JsonRpcStrays> = {
    earliest: undefined,
    add(text) {
      count += 1;
      length += text.length;
      if (count === 1) {
        first = quotedWords(redactStart(text.trimStart(), maxQuoted, secrets.redact).trimEnd(), maxQuoted);
        if (strays.earliest === undefined) {
          strays.earliest = `${first}. ${advice}`;
          report(
            info,
            "warning",
            `The server wrote text to ${place} that is not a protocol message: ${strays.earliest}`,
          );
        }
      }
      return length <= limits.messageBytes;
    },
    interrupt() {
      hasSpoken = true;
      count = 0;
      length = 0;
    },
    describe() {
      if (count === 0) return "";
      const when = hasSpoken ? "Since its last message it" : "It never responded, but";
      const number =
        count === 1 ? "text that is not a protocol message" : `${count} texts that are not protocol messages`;
      return `${when} wrote ${number} to ${place}, starting with ${first}. ${advice}`;
    },
  };
  return strays;
}
