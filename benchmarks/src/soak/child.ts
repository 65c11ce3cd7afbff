import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { childEnvironment } from "../child-environment.js";

/** A process that this one started and asks for things. */
export interface Child {
  readonly pid: number;
  /** Asks; rejects with what the child says is wrong, or when it ends. */
  ask<Reply>(question: object): Promise<Reply>;
  end(): Promise<void>;
}

interface Reply {
  readonly id: number;
  readonly result?: unknown;
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
  const waiting = new Map<number, (reply: Reply) => void>();
  let lastId = 0;
  let isEnding = false;
  const exited = once(child, "exit").then(([code, signal]) => {
    const error = `${file} ended with ${signal ?? `code ${code}`}.`;
    for (const [id, settle] of waiting) settle({ id, error });
    if (!isEnding && waiting.size === 0) throw new Error(error);
  });
  child.on("message", (reply: Reply) => {
    waiting.get(reply.id)?.(reply);
    waiting.delete(reply.id);
  });
  const ask = <Result>(question: object): Promise<Result> =>
    new Promise((resolve, reject) => {
      lastId += 1;
      waiting.set(lastId, ({ result, error }) => {
        if (error === undefined) resolve(result as Result);
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

/** To be called in the child: handles requests of the parent, and ends with it. */
export function serveParent(handle: (question: never) => unknown, end: () => Promise<void>): void {
  process.on("message", async ({ id, question }: { id: number; question: { kind: string } }) => {
    try {
      const result = question.kind === "ready" ? null : await handle(question as never);
      process.send?.({ id, result: result ?? null });
    } catch (error) {
      process.send?.({ id, error: String(error) });
    }
  });
  process.on("disconnect", () => void end().finally(() => process.exit()));
}
