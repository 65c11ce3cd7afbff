import { spawn } from "node:child_process";
import type { Io } from "../io.js";

/** What opens a url, by platform. The url is an argument of its own: no shell reads it. */
const openers: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
  linux: ["xdg-open"],
};

/** Whether a browser on this machine can be opened for the person who is asked. */
export function hasBrowser({ env }: Io, platform: string = process.platform): boolean {
  if (env.SSH_CONNECTION || env.SSH_TTY) return false;
  if (platform === "linux") return Boolean(env.DISPLAY || env.WAYLAND_DISPLAY || env.BROWSER);
  return platform in openers;
}

/** Opens an https or loopback url in the person's browser. Tells whether that could be started. */
export async function openBrowser(url: string, { env }: Io, platform: string = process.platform): Promise<boolean> {
  const { protocol, href } = new URL(url);
  if (protocol !== "https:" && protocol !== "http:") return false;
  const [command, ...args] = env.BROWSER && platform === "linux" ? [env.BROWSER] : (openers[platform] ?? []);
  if (command === undefined) return false;
  return new Promise((resolve) => {
    const child = spawn(command, [...args, href], { stdio: "ignore", detached: true, shell: false });
    child.once("error", () => resolve(false));
    child.once("spawn", () => {
      child.unref();
      resolve(true);
    });
  });
}
