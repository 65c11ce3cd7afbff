import { printableText } from "@wirescope/channelz/printable-text";
import type { Io } from "../io.js";
import { truncateToWidth } from "../output/display-width.js";

/** How far a call has come, as the server tells it. */
export interface CallProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** Shows progress on standard error: one line that is written over, or a line each where it is no terminal. */
export function createProgressLine(io: Io): { show(progress: CallProgress): void; end(): void } {
  let isShown = false;
  const isTty = io.stderr.isTTY === true;
  return {
    show({ progress, total, message }) {
      const share = total ? ` ${Math.min(100, Math.round((progress / total) * 100))} %` : "";
      const amount = total ? `${progress} of ${total}` : String(progress);
      const text = printableText(`${amount}${share}${message ? `  ${message}` : ""}`);
      if (!isTty) {
        io.stderr.write(`progress: ${text}\n`);
        return;
      }
      isShown = true;
      io.stderr.write(`\r\u001b[2K${truncateToWidth(text, (io.stderr.columns ?? 80) - 1)}`);
    },
    end() {
      if (isShown) io.stderr.write("\r\u001b[2K");
      isShown = false;
    },
  };
}
