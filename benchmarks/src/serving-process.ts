import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { PerformanceObserver } from "node:perf_hooks";
import { fileURLToPath } from "node:url";

export interface Usage {
  /** CPU time. */
  readonly cpuMicros: number;
  /** Bytes on the heap; between two readings with the same number of collections, what was allocated is the difference. */
  readonly heapBytes: number;
  readonly collections: number;
}

/** A server in a process of its own. */
export interface ServingProcess<Ready> {
  readonly ready: Ready & { readonly port: number };
  /** What it has used so far. */
  usage(): Promise<Usage>;
  stop(): Promise<void>;
}

/** Starts one of the files beside this one as a server; it reports when it is ready, and ends when it is released. */
export async function startServing<Ready = object>(
  file: string,
  args: readonly string[] = [],
): Promise<ServingProcess<Ready>> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    // Room for a whole round, so that allocations can be counted without a collection in between.
    execArgv: ["--max-semi-space-size=256", "--min-semi-space-size=256"],
  });
  const exited = once(child, "exit");
  const failed = exited.then(() => Promise.reject(new Error(`${file} ended before it was ready.`)));
  const [ready] = (await Promise.race([once(child, "message"), failed])) as [Ready & { port: number }];
  failed.catch(() => {});
  return {
    ready,
    usage: () => askUsage(child),
    stop: async () => {
      child.disconnect();
      await exited;
    },
  };
}

/** To be called by a server when it listens: reports that, reports its usage on request, and ends with its parent. */
export function serveUntilLetGo(ready: { readonly port: number }, stop: () => void): void {
  let collections = 0;
  new PerformanceObserver((entries) => {
    collections += entries.getEntries().length;
  }).observe({ entryTypes: ["gc"] });
  process.on("message", async () => {
    // A collection is reported in a later turn than the one in which it ran.
    await new Promise((resolve) => setTimeout(resolve, 20));
    const { user, system } = process.cpuUsage();
    const usage: Usage = { cpuMicros: user + system, heapBytes: process.memoryUsage().heapUsed, collections };
    process.send?.(usage);
  });
  process.on("disconnect", stop);
  process.send?.(ready);
}

async function askUsage(child: ChildProcess): Promise<Usage> {
  child.send("usage");
  const [usage] = (await once(child, "message")) as [Usage];
  return usage;
}
