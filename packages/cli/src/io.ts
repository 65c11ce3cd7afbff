import { createInterface } from "node:readline/promises";
import { programOf } from "./program.js";
import { protectProcess } from "./protect-process.js";

/** Where text goes. */
export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** The parts of the process that the command line uses. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  now(): Date;
  /** How the user can run this command, for the commands in advice. Default `wirescope`. */
  readonly program?: string | undefined;
  /** Closes this process to the other programs of its user; gives the reason if that is not possible. */
  readonly protect?: (() => string | undefined) | undefined;
  /** Asks the person at the terminal a question and returns the reply, until the signal aborts; undefined if nobody is there. */
  readonly ask?: ((question: string, signal?: AbortSignal) => Promise<string>) | undefined;
}

/** The Io of this process. */
export function processIo(): Io {
  const { stdin, stdout, stderr } = process;
  // A copy: the key of the vault is removed from that of the process.
  const env = { ...process.env };
  const ask = stdin.isTTY && stderr.isTTY ? askTerminal : undefined;
  const program = programOf({ env, platform: process.platform, script: process.argv[1] ?? "" });
  return { stdout, stderr, env, now: () => new Date(), program, protect: protectProcess, ask };
}

let lastQuestion: Promise<unknown> = Promise.resolve();

/** Asks on standard error, so that standard output contains only the result of the command. One question at a time. */
function askTerminal(question: string, signal?: AbortSignal): Promise<string> {
  const reply = lastQuestion.then(() => askNow(question, signal));
  lastQuestion = reply.catch(() => {});
  return reply;
}

async function askNow(question: string, signal: AbortSignal | undefined): Promise<string> {
  signal?.throwIfAborted();
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  // While a line is read, the terminal sends keys and no signals.
  reader.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  let hasReply = false;
  // At the end of the input the reader would wait forever.
  const ended = new Promise<string>((resolve) => reader.once("close", () => resolve("")));
  try {
    const line = await Promise.race([reader.question(question, signal === undefined ? {} : { signal }), ended]);
    hasReply = line !== "";
    return line;
  } finally {
    reader.close();
    // The cursor is still behind the question.
    if (!hasReply) process.stderr.write("\n");
  }
}
