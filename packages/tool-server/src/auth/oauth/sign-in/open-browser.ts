import { spawn } from "node:child_process";
import { isAbsolute, parse, win32 } from "node:path";
import { scrubbedEnvironment } from "../../../process/child-environment.js";
import { resolveCommand } from "../../../process/resolve-command.js";
import { parseUrl } from "../../../url.js";

/** Whose browser is opened. */
export interface BrowserOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The program that opens a url, by platform. The url is a separate argument, and no shell is involved. */
const openers: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ["/usr/bin/open"],
  // With its path: Windows would search the current folder first.
  win32: [
    win32.join(process.env.SystemRoot ?? "C:\\Windows", "System32", "rundll32.exe"),
    "url.dll,FileProtocolHandler",
  ],
  linux: ["xdg-open"],
};

/** Whether a browser can be opened for the user. */
export function hasBrowser({ env }: BrowserOptions, platform: string = process.platform): boolean {
  // If BROWSER is set, use it even over SSH: some editors set it to open the URL on the user's machine.
  if (platform === "linux" && env.BROWSER) return true;
  if (env.SSH_CONNECTION || env.SSH_TTY) return false;
  if (platform === "linux") return Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
  return platform in openers;
}

/**
 * Opens an https url, or an http url on this machine, in the user's browser; nothing else. The browser gets a scrubbed environment,
 * because ours may contain the key of the vault. It does not start in the current folder and is searched only in absolute folders of
 * PATH, because the current folder may belong to a hostile project. Returns whether it could be started.
 */
export async function openBrowser(
  url: string,
  { env }: BrowserOptions,
  platform: string = process.platform,
): Promise<boolean> {
  const parsed = parseUrl(url);
  if (parsed === undefined) return false;
  const { protocol, hostname, href } = parsed;
  const isLocal = hostname === "localhost" || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
  if (protocol !== "https:" && !(protocol === "http:" && isLocal)) return false;
  const [command, ...args] = env.BROWSER && platform === "linux" ? [env.BROWSER] : (openers[platform] ?? []);
  if (command === undefined) return false;
  const program = platform === "win32" ? command : await findProgram(command, env.PATH ?? "");
  if (program === undefined) return false;
  return new Promise((resolve) => {
    try {
      const child = spawn(program, [...args, href], {
        cwd: parse(process.execPath).root,
        stdio: "ignore",
        detached: true,
        shell: false,
        env: scrubbedEnvironment(env, []),
      });
      child.once("error", () => resolve(false));
      child.once("spawn", () => {
        child.unref();
        resolve(true);
      });
    } catch {
      // Such as E2BIG: the url is too long for an argument.
      resolve(false);
    }
  });
}

async function findProgram(command: string, path: string): Promise<string | undefined> {
  if (command.includes("/") && !isAbsolute(command)) return undefined;
  const found = await resolveCommand(command, "/", path);
  return found.kind === "found" ? found.path : undefined;
}
