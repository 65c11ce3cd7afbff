import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A server in a process of its own. */
export interface ServingProcess<Ready> {
  readonly ready: Ready & { readonly port: number };
  /** The CPU time that it has used so far, in microseconds. */
  cpuMicros(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts one of the files beside this one as a server; it tells when it is ready, and ends when it is let go. */
export async function startServing<Ready = object>(
  file: string,
  args: readonly string[] = [],
): Promise<ServingProcess<Ready>> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const exited = once(child, "exit");
  const failed = exited.then(() => Promise.reject(new Error(`${file} ended before it was ready.`)));
  const [ready] = (await Promise.race([once(child, "message"), failed])) as [Ready & { port: number }];
  failed.catch(() => {});
  return {
    ready,
    cpuMicros: () => askCpu(child),
    stop: async () => {
      child.disconnect();
      await exited;
    },
  };
}

/** To be called by a server when it listens: says so, tells its CPU time when asked, and ends with its parent. */
export function serveUntilLetGo(ready: { readonly port: number }, stop: () => void): void {
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send?.(user + system);
  });
  process.on("disconnect", stop);
  process.send?.(ready);
}

async function askCpu(child: ChildProcess): Promise<number> {
  child.send("cpu");
  const [micros] = (await once(child, "message")) as [number];
  return micros;
}
