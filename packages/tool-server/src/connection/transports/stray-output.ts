import type { Mutable } from "../../mutable.js";
import { quotedText } from "../../printable-text.js";
import { withoutSecretShapes } from "../../secrets/recognize-secrets.js";
import { redactStart } from "../../secrets/redactor.js";
import type { TransportContext } from "./transport.js";

const maxQuoted = 200;

/** Text from a server that is not a protocol message: a log line on standard output, a banner. */
export interface StrayOutput {
  /** Records stray text. False if more arrived in a row than a message may contain: then this is not a tool server. */
  add(text: string): boolean;
  /** A message was received: starts counting again. */
  interrupt(): void;
  /** The first text, quoted, and the advice; undefined if there was none. */
  readonly first: string | undefined;
  /** Describes what was received since the last message, as a sentence for an error; empty if nothing was. */
  describe(): string;
}

/** Tolerates stray text from a server and reports the first. `place` is where it was written: `its standard output`. */
export function createStrayOutput(context: TransportContext, place: string, advice: string): StrayOutput {
  const { info, secrets, report, limits } = context;
  let hasReceivedMessage = false;
  // Since the last message.
  let count = 0;
  let length = 0;
  let excerpt = "";
  const strayOutput: Mutable<StrayOutput> = {
    first: undefined,
    add(text) {
      count += 1;
      length += text.length;
      if (count === 1) {
        const start = withoutSecretShapes(redactStart(text.trimStart(), maxQuoted, secrets.redact));
        excerpt = quotedText(start.trimEnd(), maxQuoted);
        if (strayOutput.first === undefined) {
          strayOutput.first = `${excerpt}. ${advice}`;
          const what = `The server wrote text to ${place} that is not a protocol message`;
          report(info, "warning", `${what}: ${strayOutput.first}`);
        }
      }
      return length <= limits.messageBytes;
    },
    interrupt() {
      hasReceivedMessage = true;
      count = 0;
      length = 0;
    },
    describe() {
      if (count === 0) return "";
      const when = hasReceivedMessage ? "Since its last message it" : "It never responded, but";
      const number =
        count === 1 ? "text that is not a protocol message" : `${count} texts that are not protocol messages`;
      return `${when} wrote ${number} to ${place}, starting with ${excerpt}. ${advice}`;
    },
  };
  return strayOutput;
}
