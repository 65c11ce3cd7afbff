/** The user interrupted the command before it had a result: exit code 130. */
export class Interruption extends Error {
  override readonly name = "Interruption";
}

/** Runs a task whose signal aborts when the user interrupts the process. If the task then fails, throws an Interruption with this message. */
export async function interruptible<T>(message: string, task: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interruption = new AbortController();
  const interrupt = (): void => interruption.abort(new Interruption(message));
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  try {
    return await task(interruption.signal);
  } catch (error) {
    throw interruption.signal.aborted || error instanceof Interruption ? new Interruption(message) : error;
  } finally {
    process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
  }
}
