import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { childEnvironment } from "./child-environment.js";

const command = fileURLToPath(new URL("../../packages/cli/bin/wirescope.js", import.meta.url));

/** A running `wirescope` command that serves the page. */
export interface PageProgram {
  /** What it prints with `--json` when it is ready. */
  readonly ready: { readonly endpoint?: string; readonly link?: string };
  /** CPU time that it has used, in milliseconds; undefined on systems without /proc. */
  cpuMs(): number | undefined;
  stop(): Promise<void>;
}

/** Starts a command with `--json` and waits for its first line. */
export async function startPageProgram(args: readonly string[], home: string): Promise<PageProgram> {
  const child = spawnCommand([...args, "--json"], home);
  const exited = once(child, "exit");
  const failed = exited.then(() => Promise.reject(new Error(`wirescope ${args[0]} ended before it was ready.`)));
  failed.catch(() => {});
  const line = await Promise.race([firstLine(child), failed]);
  return {
    ready: JSON.parse(line),
    cpuMs: () => cpuMsOf(child.pid),
    async stop() {
      child.kill("SIGTERM");
      await exited;
    },
  };
}

/** A new link to the page of the gateway that runs with this home. */
export async function pageLink(home: string): Promise<string> {
  return (await firstLine(spawnCommand(["page"], home))).trim();
}

function spawnCommand(args: readonly string[], home: string): ChildProcess {
  return spawn(process.execPath, [command, ...args], {
    cwd: home,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...childEnvironment(home), XDG_RUNTIME_DIR: home },
  });
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  let text = "";
  for await (const chunk of stdout?.setEncoding("utf8") ?? []) {
    text += chunk;
    if (text.includes("\n")) break;
  }
  return text.slice(0, text.indexOf("\n"));
}

/** The kernel counts in hundredths of a second. */
function cpuMsOf(pid: number | undefined): number | undefined {
  if (process.platform !== "linux") return undefined;
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name of the program, in parentheses, may contain spaces. User and system time are fields 14 and 15.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
