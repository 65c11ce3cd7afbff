import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type Caller, httpCaller, hubCaller, stdioCaller } from "../caller.js";
import { childEnvironment } from "../child-environment.js";
import { freePort } from "../free-port.js";

/** A program that proxies to the server, as a user would start it. */
export interface Program {
  readonly name: string;
  /** How it is reached. */
  readonly speaks: "http" | "hub" | "stdio";
  /** What it calls the tool. */
  readonly tool: string;
  /** The token that it requires. Default: none. */
  readonly token?: string;
  /** The arguments of Node, for a port. */
  readonly args: (port: number) => readonly string[];
  /** Whether it only shows what is possible, and has no goals. Default false. */
  readonly isReference?: boolean;
}

export interface RunningProgram {
  readonly program: Program;
  readonly caller: Caller;
  /** From the start of the process to the first list of tools, in milliseconds. */
  readonly startMs: number;
  /** What the program itself, without its children, has used; undefined if the system does not report it. */
  usage(): ProgramUsage | undefined;
  stop(): Promise<void>;
}

export interface ProgramUsage {
  readonly residentMb: number;
  /** CPU time so far. */
  readonly cpuMicros: number;
}

/** After so long a program is taken for one that does not run here. */
const mostStartMs = 15_000;

/** Starts a program and waits for its first list of tools. Rejects if it ends, or is not there in time. */
export async function startProgram(program: Program, home: string): Promise<RunningProgram> {
  const port = await freePort();
  const pipe = program.speaks === "stdio" ? "pipe" : "ignore";
  const startedAt = performance.now();
  const child = spawn(process.execPath, program.args(port), {
    stdio: [pipe, pipe, "ignore"],
    env: childEnvironment(home),
  });
  const exited = once(child, "exit");
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), 3000);
    await exited;
    clearTimeout(timer);
  };
  let caller: Caller | undefined;
  try {
    caller = await beginCaller(program, port, () => {
      if (child.exitCode !== null) throw new Error(`${program.name} ended with ${child.exitCode}.`);
      if (performance.now() - startedAt > mostStartMs) throw new Error(`${program.name} is not there in time.`);
      return child;
    });
  } catch (error) {
    await stop();
    throw error;
  }
  const startMs = performance.now() - startedAt;
  return {
    program,
    caller,
    startMs,
    usage: () => usageOf(child.pid),
    async stop() {
      caller?.close();
      await stop();
    },
  };
}

async function beginCaller(
  { name, speaks, tool, token }: Program,
  port: number,
  check: () => ReturnType<typeof spawn>,
): Promise<Caller> {
  if (speaks === "stdio") {
    const caller = stdioCaller(check(), tool);
    const late = new Promise<never>((_, reject) => {
      setTimeout(() => reject(new Error(`${name} is not there in time.`)), mostStartMs).unref();
    });
    await Promise.race([caller.begin(), late]);
    return caller;
  }
  for (;;) {
    const url = `http://127.0.0.1:${port}`;
    const caller = speaks === "hub" ? hubCaller(url) : httpCaller(`${url}/mcp`, tool, token);
    try {
      await caller.begin();
      return caller;
    } catch {
      caller.close();
      check();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

/** One tick of the kernel's clock for CPU time, which is the same on all of today's Linux. */
const tickMicros = 10_000;

function usageOf(pid: number | undefined): ProgramUsage | undefined {
  try {
    const residentKb = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    // Behind the name, which may hold anything, come the state and then numbers.
    const numbers = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    const ticks = Number(numbers[11]) + Number(numbers[12]);
    return { residentMb: Number(residentKb) / 1024, cpuMicros: ticks * tickMicros };
  } catch {
    return undefined;
  }
}
