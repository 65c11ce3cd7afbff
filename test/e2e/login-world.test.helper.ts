import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type Browser, createBrowser } from "./browser.test.helper.js";
import {
  createUserFolder,
  type Run,
  type RunSetting,
  runCommand,
  startCommand,
  type TerminalUser,
} from "./command.test.helper.js";
import { type GuardedToolServer, startGuardedToolServer } from "./guarded-tool-server.test.helper.js";
import {
  type RealAuthorizationServer,
  type RealServerOptions,
  startRealAuthorizationServer,
} from "./real-authorization-server.test.helper.js";
import { endOf } from "./running-process.test.helper.js";

/** A user with one configured server, `notes`, which requires a sign-in with a real authorization server. Everything ends with the test. */
export interface LoginWorld {
  readonly authorization: RealAuthorizationServer;
  readonly tool: GuardedToolServer;
  /** The folder of the configuration, which contains the home of the user. */
  readonly folder: string;
  readonly home: string;
  /** The variables of the user: with a key for the encrypted file. */
  readonly env: Readonly<Record<string, string>>;
  /** The options that every run has. */
  readonly shared: readonly string[];
  configure(servers: Readonly<Record<string, unknown>>): string;
  /** Runs the command line in this process, and checks that no token is printed. */
  run(argv: readonly string[], setting?: RunSetting): Promise<Run>;
  /** Runs it as a separate process. */
  spawn(argv: readonly string[], env?: Readonly<Record<string, string>>): Promise<Run>;
  /** The files in the home that contain one of these strings. */
  filesWith(texts: readonly string[]): string[];
}

export async function createLoginWorld(options: RealServerOptions = {}): Promise<LoginWorld> {
  const authorization = await startRealAuthorizationServer(options);
  const tool = await startGuardedToolServer(authorization);
  const { folder, home, file, configure } = createUserFolder();
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: home,
    WIRESCOPE_VAULT: "file",
    WIRESCOPE_VAULT_KEY: randomBytes(32).toString("base64"),
  };
  const shared = ["--config", file, "--allow-insecure-loopback"];
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
    run: async (argv, setting = {}) =>
      checked(await runCommand([...argv, ...shared], { ...setting, env: { ...env, ...setting.env } })),
    async spawn(argv, more = {}) {
      const run = startCommand([...argv, ...shared], { env: { ...env, ...more } });
      run.process.stdin.end();
      const { code, ...printed } = await endOf(run);
      return checked({ code: code ?? -1, ...printed });
    },
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

/** The URL that a user was asked to open. */
export function urlPrintedIn(stderr: string): string {
  const url = /^ {2}(http\S+)$/m.exec(stderr)?.[1];
  if (url === undefined) throw new Error(`No URL was printed: ${stderr}`);
  return url;
}

/** A user who opens the printed URL, fills in the forms, and waits. Replies yes to all other questions. */
export function browsingPerson(browser: Browser = createBrowser()): TerminalUser {
  return async (question, stderr, signal) => {
    if (!/browser/.test(question)) return "y";
    const ended = new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    ended.catch(() => {});
    const prompt = stderr.slice(stderr.lastIndexOf("Sign in to"));
    await browser.signIn(urlPrintedIn(prompt));
    return ended;
  };
}

/** A user whose browser is on another machine, and who pastes its last address. */
export function pastingPerson(): TerminalUser {
  const browser = createBrowser({ cannotReach: (url) => url.includes("/callback?") });
  return async (question, stderr) =>
    /browser/.test(question) ? (await browser.signIn(urlPrintedIn(stderr))).url : "y";
}
