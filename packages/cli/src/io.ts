import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { Interruption } from "./interruption.js";
import { programOf } from "./program.js";
import { protectProcess } from "./protect-process.js";

/** An output stream. */
export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  /** The number of bytes that are not written yet. */
  readonly writableLength?: number | undefined;
}

/** The parts of the process that the command line uses. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  now(): Date;
  /** How the user can run this command, for the commands in advice. Default `wirescope`. */
  readonly program?: string | undefined;
  /** Protects this process from other programs of its user; returns the reason if that is not possible. */
  readonly protect?: (() => string | undefined) | undefined;
  /**
   * Asks the person at the terminal a question and resolves with the reply; rejects if the signal aborts. A hidden reply is not shown
   * while it is typed. Undefined without a terminal.
   */
  readonly ask?: ((question: string, signal?: AbortSignal, isHidden?: boolean) => Promise<string>) | undefined;
}

/** The Io of this process. */
export function processIo(): Io {
  const { stdin, stdout, stderr } = process;
  // A copy: the key of the vault is later removed from process.env.
  const env = { ...process.env };
  const ask = stdin.isTTY && stderr.isTTY ? askTerminal : undefined;
  const program = programOf({ env, platform: process.platform, script: process.argv[1] ?? "" });
  return { stdout, stderr, env, now: () => new Date(), program, protect: protectProcess, ask };
}

let lastQuestion: Promise<unknown> = Promise.resolve();

/** Asks on standard error, so that standard output contains only the result of the command. One question at a time. */
function askTerminal(question: string, signal?: AbortSignal, isHidden = false): Promise<string> {
  const reply = lastQuestion.then(() => askNow(question, signal, isHidden));
  lastQuestion = reply.catch(() => {});
  return reply;
}

async function askNow(question: string, signal: AbortSignal | undefined, isHidden: boolean): Promise<string> {
  signal?.throwIfAborted();
  // The reader echoes typed text to its output and turns the terminal's own echo off.
  const output = isHidden ? new Writable({ write: (_chunk, _encoding, done) => done() }) : process.stderr;
  if (isHidden) process.stderr.write(question);
  const reader = createInterface({ input: process.stdin, output, terminal: true });
  // In raw mode, Ctrl-C is a key and sends no signal.
  const interrupted = new Promise<never>((_resolve, reject) => {
    reader.once("SIGINT", () => {
      process.kill(process.pid, "SIGINT");
      // A command that handles the signal may not know that it waits for a reply.
      reject(new Interruption());
    });
  });
  let hasReply = false;
  // At the end of the input the reader would wait forever.
  const ended = new Promise<string>((resolve) => reader.once("close", () => resolve("")));
  try {
    const reply = reader.question(question, signal === undefined ? {} : { signal });
    const line = await Promise.race([reply, ended, interrupted]);
    hasReply = line !== "";
    return line;
  } finally {
    reader.close();
    // The cursor is still on the line of the question.
    if (!hasReply || isHidden) process.stderr.write("\n");
  }
}
