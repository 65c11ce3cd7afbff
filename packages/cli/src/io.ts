import { createInterface } from "node:readline/promises";

/** Where text goes. */
export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** All that the command line touches of its process. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  now(): Date;
  /** Asks the person at the terminal a question and gives the answer, until the signal aborts; undefined where nobody is there. */
  readonly ask?: ((question: string, signal?: AbortSignal) => Promise<string>) | undefined;
}

/** The Io of this process. */
export function processIo(): Io {
  const { stdin, stdout, stderr, env } = process;
  return { stdout, stderr, env, now: () => new Date(), ask: stdin.isTTY && stderr.isTTY ? askTerminal : undefined };
}

/** Asks on standard error, so that the answer of the command stays alone on standard output. */
async function askTerminal(question: string, signal?: AbortSignal): Promise<string> {
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await (signal === undefined ? reader.question(question) : reader.question(question, { signal }));
  } finally {
    reader.close();
  }
}
