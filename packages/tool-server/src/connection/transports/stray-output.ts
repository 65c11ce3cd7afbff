import type { Mutable } from "../../mutable.js";
import { quotedText } from "../../printable-text.js";
import { withoutSecretShapes } from "../../secrets/recognize-secrets.js";
import { redactStart } from "../../secrets/redactor.js";
import type { RpcMessage } from "../rpc/json-rpc.js";
import { parseMessages } from "../rpc/message.js";
import type { TransportContext } from "./transport.js";

const maxQuoted = 200;
/** The maximum lines of a message that is written over several. */
const maxLines = 10_000;

/** Reads what a server sends as text, and tolerates text that is not a protocol message: a log line on standard output, a banner. */
export interface StrayOutput {
  /**
   * Parses a message or a batch; empty for stray text, which is recorded. Undefined if this is not a tool server: more of that arrived in
   * a row than a message may contain, or its first message is framed in another way.
   */
  messagesIn(text: string): readonly RpcMessage[] | undefined;
  /** How its first message is framed, as a clause; undefined if that is not another way. */
  readonly framing: string | undefined;
  /** The first text, quoted, and the advice; undefined if there was none. */
  readonly first: string | undefined;
  /** Describes what was received since the last message, as a sentence for an error; empty if nothing was. */
  describe(): string;
}

/** Reports the first stray text. `place` is where it was written: `its standard output`. */
export function createStrayOutput(context: TransportContext, place: string, advice: string): StrayOutput {
  const { info, secrets, report, limits } = context;
  let hasReceivedMessage = false;
  // Since the last message.
  let count = 0;
  let length = 0;
  let excerpt = "";
  /** The lines since one that begins a JSON object. */
  let lines: string[] = [];
  const framingOf = (text: string): string | undefined => {
    if (/^Content-Length: *\d+\s*$/i.test(text)) return "writes its messages with Content-Length headers";
    if (text.startsWith("{")) lines = [];
    if (lines.length < maxLines) lines.push(text);
    if (!text.startsWith("}")) return undefined;
    const object = lines.join("\n");
    // Each line is parsed only once.
    lines = [];
    return parseMessages(object) === undefined ? undefined : "writes a message over several lines";
  };
  const strayOutput: Mutable<StrayOutput> = {
    framing: undefined,
    first: undefined,
    messagesIn(text) {
      const messages = parseMessages(text);
      if (messages !== undefined) {
        hasReceivedMessage = true;
        count = 0;
        length = 0;
        return messages;
      }
      if (!hasReceivedMessage) strayOutput.framing = framingOf(text);
      if (strayOutput.framing !== undefined) {
        // It is a message, so nothing of it is stray.
        count = 0;
        strayOutput.first = undefined;
        return undefined;
      }
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
      return length <= limits.messageBytes ? [] : undefined;
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
