import { quotedWords } from "../../printable-text.js";
import type { TransportContext } from "./transport.js";

/** How much of a text is looked at, in characters: more than any secret is long. */
const lookedAt = 64 * 1024;
const toldLength = 200;

/** Text from a server that is no message of the protocol: a log on standard output, a greeting. */
export interface JsonRpcStrays {
  /** Takes note of one. False where more came in a row than one message may be large: then this is no tool server. */
  add(text: string): boolean;
  /** A message came: what follows is counted anew. */
  interrupt(): void;
  /** The first that ever came, quoted, and what to do about it; undefined if none came. */
  readonly earliest: string | undefined;
  /** What strayed since the last message, as a sentence for a failure; empty where nothing did. */
  describe(): string;
}

/** Bears with what strays from a server, and tells of the first. `place` is where it came: `its standard output`. */
export function createJsonRpcStrays(context: TransportContext, place: string, advice: string): JsonRpcStrays {
  const { info, secrets, report, limits } = context;
  let earliest: string | undefined;
  let hasSpoken = false;
  // Since the last message.
  let count = 0;
  let length = 0;
  let first = "";
  return {
    get earliest() {
      return earliest;
    },
    add(text) {
      count += 1;
      length += text.length;
      if (count === 1) {
        // Cut only after secrets are taken out, so that no part of one stays.
        first = quotedWords(secrets.redact(text.slice(0, lookedAt)).trim(), toldLength);
        if (earliest === undefined) {
          earliest = `${first}. ${advice}`;
          report(info, "warning", `The server wrote to ${place} what is no message of the protocol: ${earliest}`);
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
      const when = hasSpoken ? "Since its last message it" : "It never answered, but";
      const number = count === 1 ? "text that is" : `${count} texts that are`;
      return `${when} wrote ${number} no message of the protocol to ${place}, beginning with ${first}. ${advice}`;
    },
  };
}
