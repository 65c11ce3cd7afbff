import { printableText } from "@wirescope/channelz/internal";
import type { Io } from "../io.js";
import { truncateToWidth } from "./text-layout.js";

/** The progress of a task. */
export interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** Shows progress on standard error: one line that is overwritten, or separate lines if it is not a terminal. */
export function createProgressLine(io: Io): { show(progress: Progress): void; end(): void } {
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
