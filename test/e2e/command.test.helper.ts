import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { Io, main as Main } from "wirescope/internal";
import {
  type EndedProcess,
  type ProcessOptions,
  type RunningProcess,
  startProcess,
  untilPrinted,
} from "./running-process.test.helper.js";

/** The command, built. */
export const program: string = fileURLToPath(new URL("../../packages/cli/bin/wirescope.js", import.meta.url));

// The bundle, as it is published. The sources would be loaded a file at a time.
const { loadBundle } = createRequire(import.meta.url)("../../packages/cli/bin/load-bundle.js");
/** The command line. */
export const main: typeof Main = loadBundle("test").exports.main;

/** How a run of the command ended. */
export interface Run extends EndedProcess {
  readonly code: number;
}

/** The user at the terminal: replies to a question of the command line, or waits until the signal aborts. */
export type TerminalUser = (question: string, stderr: string, signal: AbortSignal) => Promise<string>;

export interface RunSetting {
  readonly env?: Io["env"];
  /** The user at the terminal. Default: no terminal. */
  readonly person?: TerminalUser | undefined;
  /** The width of the terminal. Default: no terminal. */
  readonly columns?: number | undefined;
  /** The height of the terminal. Default: unknown. */
  readonly rows?: number | undefined;
  /** Called with each write to standard error. */
  readonly onStderr?: ((text: string) => void) | undefined;
}

/** Runs the command line in this process. */
export async function runCommand(argv: readonly string[], setting: RunSetting = {}): Promise<Run> {
  const { env = {}, person, columns, rows, onStderr } = setting;
  let stdout = "";
  let stderr = "";
  const code = await main([...argv], {
    stdout: {
      write: (text) => {
        stdout += text;
      },
      ...(columns === undefined ? {} : { isTTY: true, columns, rows }),
    },
    stderr: {
      write: (text) => {
        stderr += text;
        onStderr?.(text);
      },
    },
    env,
    now: () => new Date(),
    ask: person && ((question, signal = new AbortController().signal) => person(question, stderr, signal)),
  });
  return { code, stdout, stderr };
}

/** Starts the built command as a separate process, with V8's compiled code of an earlier one; it runs until it ends or the test does. */
export function startCommand(argv: readonly string[], options: ProcessOptions = {}): RunningProcess {
  const env = { XDG_CACHE_HOME: process.env.XDG_CACHE_HOME, ...(options.env ?? process.env) };
  return startProcess(process.execPath, [program, ...argv], { ...options, env });
}

/** A running gateway, and its output. */
export interface StartedGateway extends RunningProcess {
  readonly endpoint: string;
  /** Undefined if the gateway was given it. */
  readonly token: string;
}

/** Starts the gateway as a separate process; resolves when it is ready. It ends with the test. */
export async function startGateway(options: readonly string[], setting: ProcessOptions): Promise<StartedGateway> {
  const run = startCommand(["up", "--json", "--print-token", ...options], setting);
  const { endpoint, token } = JSON.parse(await untilPrinted(run, /\n/));
  return Object.assign(run, { endpoint, token });
}

/** A folder with the configuration and the home of a user. It is removed after the test. */
export interface UserFolder {
  readonly folder: string;
  readonly home: string;
  /** The path of the configuration. */
  readonly file: string;
  /** Writes the configuration, and returns its path. */
  configure(servers: Readonly<Record<string, unknown>>): string;
}

export function createUserFolder(): UserFolder {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "wirescope-user-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const home = join(folder, "home");
  mkdirSync(home);
  const file = join(folder, ".mcp.json");
  return {
    folder,
    home,
    file,
    configure(servers) {
      writeFileSync(file, JSON.stringify({ mcpServers: servers }, null, 2));
      return file;
    },
  };
}
