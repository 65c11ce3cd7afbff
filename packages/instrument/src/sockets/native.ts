import { createRequire } from "node:module";

/** C library calls that Node does not provide. */
export interface NativeSockets {
  /** Reads an option of at most `size` bytes; valid until the next call. Undefined if the kernel returns an error. */
  getOption(descriptor: number, level: number, option: number, size: number): Buffer | undefined;
  /** The path that a Unix socket is bound to, empty if it is unbound; undefined if it is not a Unix socket. */
  localPath(descriptor: number): string | undefined;
  /** The path that the peer of a Unix socket is bound to, like `localPath`. */
  remotePath(descriptor: number): string | undefined;
}

/** Why native calls are unavailable, as text for people. */
export interface NativeAbsence {
  readonly reason: string;
}

/** The platform, and how to load the native package. */
export interface NativeHost {
  readonly platform: NodeJS.Platform;
  readonly arch: string;
  readonly require: (name: string) => unknown;
}

/** The part of koffi's API that is used. Its types are not imported, because it may be missing at compile time. */
interface Koffi {
  load(path: null): { func(definition: string): (...args: readonly unknown[]) => number };
}

/** 64-bit little-endian architectures that use the option numbers and structs of Linux's generic headers. */
const knownArchitectures: readonly string[] = ["x64", "arm64", "riscv64", "loong64"];

const unixFamily = 1;
const maxUnixAddress = 110;

/** Loads the native calls, or returns why they are unavailable; never throws. */
export function findNativeSockets({ platform, arch, require }: NativeHost): NativeSockets | NativeAbsence {
  if (platform !== "linux") return { reason: `Socket options are available only on Linux; this is ${platform}.` };
  if (!knownArchitectures.includes(arch)) {
    return { reason: `Socket options are available only on ${knownArchitectures.join(", ")}; this is ${arch}.` };
  }
  try {
    return bindSockets(require("koffi") as Koffi);
  } catch (error) {
    return { reason: reasonOf(error) };
  }
}

let outcome: NativeSockets | NativeAbsence | undefined;

/** The native calls; undefined if they cannot be loaded. Loaded on first use, which takes some milliseconds. */
export function nativeSockets(): NativeSockets | undefined {
  const found = nativeOutcome();
  return "reason" in found ? undefined : found;
}

/** Why socket options are unavailable in this process, and what to do; undefined if they are available. Loads the native calls. */
export function whyNoSocketOptions(): string | undefined {
  const found = nativeOutcome();
  return "reason" in found ? found.reason : undefined;
}

function nativeOutcome(): NativeSockets | NativeAbsence {
  outcome ??= findNativeSockets({
    platform: process.platform,
    arch: process.arch,
    require: createRequire(import.meta.url),
  });
  return outcome;
}

function bindSockets(koffi: Koffi): NativeSockets {
  const library = koffi.load(null);
  const getsockopt = library.func("int getsockopt(int, int, int, void *, void *)");
  const getsockname = library.func("int getsockname(int, void *, void *)");
  const getpeername = library.func("int getpeername(int, void *, void *)");
  // Every call is synchronous and its result is read at once, so all calls share one buffer.
  const value = Buffer.alloc(256);
  const length = Buffer.alloc(4);

  const pathBy = (call: typeof getsockname, descriptor: number): string | undefined => {
    length.writeInt32LE(maxUnixAddress);
    if (call(descriptor, value, length) !== 0) return undefined;
    return unixPath(value.subarray(0, length.readInt32LE()));
  };
  return {
    getOption: (descriptor, level, option, size) => {
      length.writeInt32LE(size);
      return getsockopt(descriptor, level, option, value, length) === 0
        ? value.subarray(0, length.readInt32LE())
        : undefined;
    },
    localPath: (descriptor) => pathBy(getsockname, descriptor),
    remotePath: (descriptor) => pathBy(getpeername, descriptor),
  };
}

/** Reads a `struct sockaddr_un`. A path may end with a NUL; an abstract name begins with one, and old libuv pads it. */
function unixPath(address: Buffer): string | undefined {
  if (address.length < 2 || address.readUInt16LE() !== unixFamily) return undefined;
  return address.toString("utf8", 2).replace(/\0+$/, "");
}

function reasonOf(error: unknown): string {
  const code = (error as { readonly code?: unknown } | null)?.code;
  if (code === "MODULE_NOT_FOUND") {
    return "Socket options require the optional package koffi, which is not installed. Run `npm install koffi` to see them.";
  }
  const [firstLine] = String(error instanceof Error ? error.message : error).split("\n");
  return `Socket options require the package koffi, which cannot be loaded: ${firstLine}`;
}
