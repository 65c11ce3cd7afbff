import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Io, main } from "@wirescope/cli";
import { expect, onTestFinished } from "vitest";
import { type Browser, createBrowser } from "./browser.test.helper.js";
import { type GuardedToolServer, startGuardedToolServer } from "./guarded-tool-server.test.helper.js";
import {
  type RealAuthorizationServer,
  type RealServerOptions,
  startRealAuthorizationServer,
} from "./real-authorization-server.test.helper.js";

/** The command, built. */
export const program: string = fileURLToPath(new URL("../../packages/cli/bin/wirescope.js", import.meta.url));

export interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Answers a question of the command line; it may wait until the signal aborts. */
export type Answerer = (question: string, stderr: string, signal: AbortSignal) => Promise<string>;

export interface RunSetting {
  readonly env?: Io["env"];
  /** Who sits at the terminal. Default: nobody. */
  readonly person?: Answerer;
  readonly columns?: number;
  /** Hears what is written to standard error, as it comes. */
  readonly onStderr?: (text: string) => void;
}

/** A user with a configuration of one server, `notes`, which a real authorization server guards. All ends with the test. */
export interface LoginWorld {
  readonly authorization: RealAuthorizationServer;
  readonly tool: GuardedToolServer;
  /** The folder of the configuration; the home of the user is in it. */
  readonly folder: string;
  readonly home: string;
  /** The variables of the user: with a key for the encrypted file. */
  readonly env: Readonly<Record<string, string>>;
  /** The options that every run has. */
  readonly shared: readonly string[];
  configure(servers: Readonly<Record<string, unknown>>): void;
  /** Runs the command line here. No token may ever be printed. */
  run(argv: readonly string[], setting?: RunSetting): Promise<Run>;
  /** Runs it as a process of its own. */
  spawn(argv: readonly string[], env?: Readonly<Record<string, string>>): Promise<Run>;
  /** The files below the home that hold one of these texts. */
  filesWith(texts: readonly string[]): string[];
}

export async function createLoginWorld(options: RealServerOptions = {}): Promise<LoginWorld> {
  const authorization = await startRealAuthorizationServer(options);
  const tool = await startGuardedToolServer(authorization);
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "wirescope-login-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const home = join(folder, "home");
  mkdirSync(home);
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: home,
    WIRESCOPE_VAULT: "file",
    WIRESCOPE_VAULT_KEY: randomBytes(32).toString("base64"),
  };
  const shared = ["--config", join(folder, ".mcp.json"), "--allow-insecure-loopback"];
  const configure = (servers: Readonly<Record<string, unknown>>): void =>
    writeFileSync(join(folder, ".mcp.json"), JSON.stringify({ mcpServers: servers }, null, 2));
  configure({ notes: { type: "http", url: tool.url } });
  const checked = (run: Run): Run => {
    for (const token of authorization.issued) expect(run.stdout + run.stderr).not.toContain(token);
    return run;
  };
  return {
    authorization,
    tool,
    folder,
    home,
    env,
    shared,
    configure,
    async run(argv, { env: more = {}, person, columns, onStderr } = {}) {
      let stdout = "";
      let stderr = "";
      const code = await main([...argv, ...shared], {
        stdout: {
          write: (text) => {
            stdout += text;
          },
          ...(columns === undefined ? {} : { isTTY: true, columns }),
        },
        stderr: {
          write: (text) => {
            stderr += text;
            onStderr?.(text);
          },
        },
        env: { ...env, ...more },
        now: () => new Date(),
        ask: person && ((question, signal = new AbortController().signal) => person(question, stderr, signal)),
      });
      return checked({ code, stdout, stderr });
    },
    spawn: async (argv, more = {}) =>
      checked(
        await new Promise<Run>((resolve) => {
          const child = spawn(process.execPath, [program, ...argv, ...shared], {
            env: { ...env, ...more },
            stdio: ["ignore", "pipe", "pipe"],
          });
          const run = { stdout: "", stderr: "" };
          for (const name of ["stdout", "stderr"] as const) {
            child[name].on("data", (chunk) => {
              run[name] += chunk;
            });
          }
          child.on("close", (code) => resolve({ code: code ?? -1, ...run }));
        }),
      ),
    filesWith: (texts) =>
      readdirSync(home, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .filter((path) => {
          const bytes = readFileSync(path);
          return texts.some((text) => bytes.includes(text));
        }),
  };
}

/** The url that a person was told to open. */
export function urlToldIn(stderr: string): string {
  const url = /^ {2}(http\S+)$/m.exec(stderr)?.[1];
  if (url === undefined) throw new Error(`No url was told: ${stderr}`);
  return url;
}

/** Someone who opens the url that they are told, fills in the forms, and waits. Says yes to all else. */
export function browsingPerson(browser: Browser = createBrowser()): Answerer {
  return async (question, stderr, signal) => {
    if (!/browser/.test(question)) return "y";
    const ended = new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    ended.catch(() => {});
    const told = stderr.slice(stderr.lastIndexOf("Sign in to"));
    await browser.signIn(urlToldIn(told));
    return ended;
  };
}

/** Someone whose browser is on another machine: they paste the address that it ends at. */
export function pastingPerson(): Answerer {
  const browser = createBrowser({ cannotReach: (url) => url.includes("/callback?") });
  return async (question, stderr) => (/browser/.test(question) ? (await browser.signIn(urlToldIn(stderr))).url : "y");
}
