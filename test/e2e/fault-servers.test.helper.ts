import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../free-port.test.helper.js";
import type { FaultServerSettings } from "./fault-server.test.helper.js";
import { programOf } from "./program.test.helper.js";
import { defer, mark, processesOf, temporaryFolder } from "./tool-server-world.test.helper.js";

/** A server that runs as a separate process. */
export interface FaultServer extends FaultServerKind {
  /** Its configuration entry. */
  readonly entry: Record<string, unknown>;
  /** Its origin; empty for stdio. */
  readonly origin: string;
  /** How many lines of its log begin like this. */
  count(beginning: string): number;
  lines(): string[];
  /** Sends a signal to its process, or its processes. */
  signal(signal: NodeJS.Signals): void;
  /** Kills it. */
  kill(): Promise<void>;
  /** Starts it again at the same address; a stdio server is started by its client. */
  restart(): Promise<void>;
}

export type FaultServerKind = Pick<FaultServerSettings, "kind" | "era" | "tls">;

/** Starts a server of this kind; it ends with the test, or when `atEnd` runs its callback. */
export async function startFaultServer(kind: FaultServerKind, atEnd: typeof defer = defer): Promise<FaultServer> {
  const program = await programOf(new URL("fault-server.test.helper.ts", import.meta.url), { bundles: true });
  const log = join(temporaryFolder(atEnd), "log");
  writeFileSync(log, "");
  const own = `${mark}-${randomUUID()}`;
  const port = kind.kind === "stdio" ? undefined : await freePort();
  let child: ChildProcess | undefined;
  const argsOf = (): string[] => [program, JSON.stringify({ ...kind, log, port, mark: own })];
  const kill = async (): Promise<void> => {
    if (kind.kind === "stdio") {
      signalAll(own, "SIGKILL");
      return;
    }
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "close");
    child.kill("SIGKILL");
    await ended;
  };
  const start = async (): Promise<void> => {
    if (kind.kind === "stdio") return;
    const started = spawn(process.execPath, argsOf(), { stdio: ["ignore", "pipe", "inherit"] });
    child = started;
    let output = "";
    for await (const chunk of started.stdout) {
      output += String(chunk);
      if (output.includes("[[listening]]")) return;
    }
    throw new Error(`The server did not start: ${output}`);
  };
  atEnd(kill);
  await start();
  const scheme = `${kind.kind === "ws" ? "ws" : "http"}${kind.tls === undefined ? "" : "s"}`;
  const path = kind.kind === "sse" ? "sse" : "mcp";
  const lines = (): string[] => readFileSync(log, "utf8").split("\n").filter(Boolean);
  return {
    ...kind,
    entry:
      kind.kind === "stdio"
        ? { command: process.execPath, args: argsOf() }
        : { type: kind.kind, url: `${scheme}://127.0.0.1:${port}/${path}` },
    origin: kind.kind === "stdio" ? "" : `${scheme}://127.0.0.1:${port}`,
    lines,
    count: (beginning) => lines().filter((line) => line.startsWith(beginning)).length,
    signal(signal) {
      if (kind.kind === "stdio") signalAll(own, signal);
      else child?.kill(signal);
    },
    kill,
    restart: start,
  };
}

/** Signals the processes of a stdio server. In a sandbox there are several, and the end of one ends the others. */
function signalAll(own: string, signal: NodeJS.Signals): void {
  for (const pid of processesOf(own)) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

/** Servers of all these kinds, in the eras that they support. */
export async function startAllFaultServers(
  kinds: readonly FaultServerKind["kind"][] = ["http", "sse", "ws", "stdio"],
  atEnd: typeof defer = defer,
): Promise<readonly FaultServer[]> {
  return Promise.all(allKinds.filter(({ kind }) => kinds.includes(kind)).map((kind) => startFaultServer(kind, atEnd)));
}

const allKinds: readonly FaultServerKind[] = [
  { kind: "http", era: "modern" },
  { kind: "http", era: "legacy" },
  { kind: "sse", era: "legacy" },
  { kind: "ws", era: "modern" },
  { kind: "stdio", era: "modern" },
  { kind: "stdio", era: "legacy" },
];

/** Runs `use` for all servers in parallel; an error names its server. */
export async function withEach(
  servers: readonly FaultServer[],
  use: (server: FaultServer) => Promise<void>,
): Promise<void> {
  const failed = await Promise.all(
    servers.map((server) =>
      use(server).then(
        () => undefined,
        (error: unknown) => {
          if (error instanceof Error) error.message = `over ${server.kind}, ${server.era}: ${error.message}`;
          return { error };
        },
      ),
    ),
  );
  for (const failure of failed) if (failure !== undefined) throw failure.error;
}
