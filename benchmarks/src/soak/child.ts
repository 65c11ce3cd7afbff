import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { childEnvironment } from "../child-environment.js";

/** A process that this one started and asks for things. */
export interface Child {
  readonly pid: number;
  /** Asks; rejects with what the child says is wrong, or when it ends. */
  ask<Answer>(question: object): Promise<Answer>;
  end(): Promise<void>;
}

interface Answer {
  readonly id: number;
  readonly answer?: unknown;
  readonly error?: string;
}

/** Starts a file beside this one, and waits until it is ready to be asked. */
export async function startChild(
  file: string,
  args: readonly string[] = [],
  execArgv: readonly string[] = [],
): Promise<Child> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    execArgv: [...execArgv],
    env: childEnvironment(),
  });
  const waiting = new Map<number, (answer: Answer) => void>();
  let lastId = 0;
  let isEnding = false;
  const exited = once(child, "exit").then(([code, signal]) => {
    const error = `${file} ended with ${signal ?? `code ${code}`}.`;
    for (const [id, settle] of waiting) settle({ id, error });
    if (!isEnding && waiting.size === 0) throw new Error(error);
  });
  child.on("message", (answer: Answer) => {
    waiting.get(answer.id)?.(answer);
    waiting.delete(answer.id);
  });
  const ask = <Answered>(question: object): Promise<Answered> =>
    new Promise((resolve, reject) => {
      lastId += 1;
      waiting.set(lastId, ({ answer, error }) => {
        if (error === undefined) resolve(answer as Answered);
        else reject(new Error(error));
      });
      child.send({ id: lastId, question });
    });
  await ask({ kind: "ready" });
  return {
    pid: child.pid ?? 0,
    ask,
    async end() {
      isEnding = true;
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}

/** To be called in the child: answers what the parent asks, and ends with it. */
export function answerParent(answer: (question: never) => unknown, end: () => Promise<void>): void {
  process.on("message", async ({ id, question }: { id: number; question: { kind: string } }) => {
    try {
      const answered = question.kind === "ready" ? null : await answer(question as never);
      process.send?.({ id, answer: answered ?? null });
    } catch (error) {
      process.send?.({ id, error: String(error) });
    }
  });
  process.on("disconnect", () => void end().finally(() => process.exit()));
}
