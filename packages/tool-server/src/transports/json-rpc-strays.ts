import { printableText } from "../process/printable-text.js";
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
  /** What strayed, as a sentence for a failure; empty where nothing did, or where a message came as well. */
  describe(): string;
}

/** Bears with what strays from a server, and tells of the first. `place` is where it came: `its standard output`. */
export function createJsonRpcStrays(context: TransportContext, place: string, advice: string): JsonRpcStrays {
  const { facts, secrets, tell, limits } = context;
  let count = 0;
  let inARow = 0;
  let first = "";
  let hasSpoken = false;
  return {
    add(text) {
      count += 1;
      inARow += text.length;
      if (count === 1) {
        // Cut only after secrets are taken out, so that no part of one stays.
        first = printableText(secrets.redact(text.slice(0, lookedAt)).trim(), toldLength);
        tell(facts, "warning", `The server wrote to ${place} what is no message of the protocol: ${first} ${advice}`);
      }
      return inARow <= limits.messageBytes;
    },
    interrupt() {
      hasSpoken = true;
      inARow = 0;
    },
    describe() {
      if (count === 0 || hasSpoken) return "";
      const number = count === 1 ? "text that is" : `${count} texts that are`;
      return `It never answered, but wrote ${number} no message of the protocol to ${place}, beginning with: ${first} ${advice}`;
    },
  };
}
