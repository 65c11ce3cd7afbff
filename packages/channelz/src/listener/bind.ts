import { lookup } from "node:dns/promises";
import { chmodSync, existsSync, lstatSync, rmSync } from "node:fs";
import { connect, isIP, type Server } from "node:net";
import { dirname } from "node:path";
import { isMainThread } from "node:worker_threads";
import { ChannelzError } from "../errors.js";
import { codeOf } from "./file-reason.js";
import { isLoopbackAddress } from "./host-name.js";

/** The address of a listener, and whether only this machine can reach it. */
export type BindAddress =
  | { readonly kind: "tcp"; readonly host: string; readonly port: number; readonly isLocal: boolean }
  | { readonly kind: "unix"; readonly path: string; readonly isLocal: boolean };

export interface BindOptions {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly path?: string | undefined;
}

/** Resolves an address before it is bound. It is local only if all addresses of a name are. */
export async function resolveBind(options: BindOptions): Promise<BindAddress> {
  if (options.path !== undefined) {
    if (options.host !== undefined || options.port !== undefined)
      throw new TypeError("Set either path, or host and port.");
    if (options.path === "") throw new TypeError("path is empty. Set it to the path of the socket file.");
    // An abstract socket has no file permissions, so only a token keeps other users of the machine out.
    return { kind: "unix", path: options.path, isLocal: !options.path.startsWith("\0") };
  }
  const host = options.host ?? "127.0.0.1";
  const port = options.port ?? 0;
  if (!Number.isInteger(port) || port < 0 || port > 65535) throw new TypeError(`port must be 0 to 65535, not ${port}.`);
  const addresses = isIP(host) ? [host] : host === "" ? ["::"] : await resolveName(host);
  const isLocal = addresses.every(isLoopbackAddress);
  // If a name has both families, most peers try IPv4 first.
  const address = addresses.find((one) => isIP(one) === 4) ?? addresses[0];
  if (address === undefined)
    throw new ChannelzError("LISTEN_FAILED", `${host} has no address. Use an address of this machine.`);
  return { kind: "tcp", host: address, port, isLocal };
}

async function resolveName(host: string): Promise<string[]> {
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch (cause) {
    throw new ChannelzError("LISTEN_FAILED", `${host} cannot be resolved. Use an address of this machine.`, { cause });
  }
}

/** Binds a server and resolves once it listens. Only the owner can access a Unix socket; a stale socket file is replaced. */
export async function bind(server: Server, address: BindAddress): Promise<void> {
  try {
    await listen(server, address);
  } catch (error) {
    // An abstract socket has no file that could be stale.
    if (address.kind === "unix" && !address.path.startsWith("\0") && codeOf(error) === "EADDRINUSE") {
      await removeStaleSocket(address.path);
      await listen(server, address).catch((again: unknown) => fail(address, again));
    } else {
      fail(address, error);
    }
  }
}

/** The address as a target for clients: `host:port` or `unix:/path`. */
export function targetOf(server: Server, address: BindAddress): string {
  if (address.kind === "unix") return `unix:${address.path}`;
  const bound = server.address();
  const port = typeof bound === "object" && bound !== null ? bound.port : address.port;
  return address.host.includes(":") ? `[${address.host}]:${port}` : `${address.host}:${port}`;
}

/**
 * The accept queue while the process is busy; the system may allow fewer. Node requests 511, and further connections are
 * dropped silently: their clients consider themselves connected and wait for minutes.
 */
const backlog = 4096;

function listen(server: Server, address: BindAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.once("listening", () => {
      server.off("error", reject);
      resolve();
    });
    if (address.kind === "tcp") server.listen({ host: address.host, port: address.port, backlog });
    else listenPrivately(server, address.path);
  });
}

function listenPrivately(server: Server, path: string): void {
  const hasFile = process.platform !== "win32" && !path.startsWith("\0");
  // The file is created within the call, so a temporary umask restricts access from the start; a worker thread may not set it.
  const mask = hasFile && isMainThread ? process.umask(0o177) : undefined;
  try {
    server.listen({ path, backlog });
  } finally {
    if (mask !== undefined) process.umask(mask);
  }
  if (hasFile && server.listening) chmodSync(path, 0o600);
}

async function removeStaleSocket(path: string): Promise<void> {
  const before = lstatSync(path, { throwIfNoEntry: false });
  if (before === undefined) return;
  if (!before.isSocket()) {
    throw new ChannelzError(
      "LISTEN_FAILED",
      `${path} exists and is not a socket. Choose another path, or remove the file.`,
    );
  }
  if (await isServed(path)) {
    throw new ChannelzError("LISTEN_FAILED", `Another process listens on ${path}. Stop it, or choose another path.`);
  }
  // Another process may have replaced the file in the meantime.
  if (lstatSync(path, { throwIfNoEntry: false })?.ino === before.ino) rmSync(path, { force: true });
}

/** Whether a process listens on a socket; also true if this process has no permission to connect. */
function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect({ path });
    probe.once("connect", () => {
      probe.destroy();
      resolve(true);
    });
    probe.once("error", (error) => resolve(codeOf(error) !== "ECONNREFUSED" && codeOf(error) !== "ENOENT"));
  });
}

/** Node reports this as EACCES. */
function isInMissingFolder(address: BindAddress): boolean {
  return address.kind === "unix" && !existsSync(dirname(address.path));
}

function fail(address: BindAddress, cause: unknown): never {
  const where = address.kind === "unix" ? address.path : `${address.host} port ${address.port}`;
  const code = codeOf(cause);
  const what = address.kind === "unix" ? "path" : "port";
  const advice =
    code === "EADDRINUSE"
      ? `The ${what} is in use: stop the program that listens on it, or choose another ${what}.`
      : isInMissingFolder(address)
        ? "Its folder does not exist: create it, or choose another path."
        : code === "EACCES"
          ? "Permission denied: choose a port above 1023, or a path that this process can write to."
          : code === "EADDRNOTAVAIL"
            ? "The address does not belong to this machine: choose one that does."
            : "Choose another address.";
  throw new ChannelzError("LISTEN_FAILED", `Cannot listen on ${where} (${code}). ${advice}`, { cause });
}
