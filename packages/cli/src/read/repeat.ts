import { setTimeout as sleep } from "node:timers/promises";
import { ChannelzError } from "@wirescope/channelz/internal";
import { printableText } from "@wirescope/channelz/internal/text";
import type { Io } from "../io.js";
import { parseDuration } from "../option-values.js";
import { formatJsonLine } from "../output/json.js";

/** How often something is printed, and in which form. */
export interface RepeatOptions {
  /** The value of `--interval`. */
  readonly interval: string | undefined;
  readonly isJson: boolean;
}

/**
 * Prints repeatedly until the signal aborts. A terminal is cleared in the same write as the new text; elsewhere an empty line separates
 * the outputs, and JSON is one line each. Only a failure of the first read ends it, so that it survives a restart of the process.
 */
export async function repeat(
  io: Io,
  signal: AbortSignal,
  { interval, isJson }: RepeatOptions,
  printOnce: (io: Io) => Promise<void>,
): Promise<void> {
  const intervalMs = interval === undefined ? 2000 : parseDuration(interval, "--interval");
  const isTerminal = io.stdout.isTTY === true && !isJson;
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    let text = "";
    const { isTTY, columns, rows } = io.stdout;
    const stdout = {
      write: (part: string) => {
        text += part;
      },
      isTTY,
      columns,
      rows,
    };
    try {
      await printOnce({ ...io, stdout });
    } catch (error) {
      if (signal.aborted) return;
      if ((isFirst && text === "") || !ChannelzError.is(error)) throw error;
      if (isJson && text === "") text = formatJsonLine({ error: error.message });
      else if (!isJson) text += `wirescope: ${printableText(error.message)}\n`;
    }
    if (signal.aborted) return;
    if (isJson) io.stdout.write(`${formatJsonLine(JSON.parse(text))}\n`);
    else if (isTerminal) io.stdout.write(`\u001b[H\u001b[2J${text}`);
    else io.stdout.write(isFirst ? text : `\n${text}`);
    await sleep(intervalMs, undefined, { signal }).catch(() => {});
  }
}
