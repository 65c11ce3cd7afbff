import { createRequire } from "node:module";

/** The calls of the C library that Node does not offer. */
export interface NativeSockets {
  /** Reads an option of at most `size` bytes, good until the next call; undefined if the kernel refuses. */
  getOption(descriptor: number, level: number, option: number, size: number): Buffer | undefined;
  /** The path a Unix socket is bound to, empty if it is to none; undefined for what is no Unix socket. */
  localPath(descriptor: number): string | undefined;
  /** The path that the other end of a Unix socket is bound to; as `localPath`. */
  remotePath(descriptor: number): string | undefined;
}

/** Why there are no native calls, as a sentence with advice. */
export interface NativeAbsence {
  readonly reason: string;
}

/** Where to look for the native calls. */
export interface NativeHost {
  readonly platform: NodeJS.Platform;
  readonly arch: string;
  readonly require: (name: string) => unknown;
}

/** What is used of koffi. Its own types are not imported: it may be missing when this is compiled. */
interface Koffi {
  load(path: null): { func(definition: string): (...args: readonly unknown[]) => number };
}

/** Where option numbers and structs are those of Linux's generic headers, with 64 bits and the low byte first. */
const knownArchitectures: readonly string[] = ["x64", "arm64", "riscv64", "loong64"];

const unixFamily = 1;
const maxUnixAddress = 110;

/** Loads the native calls, or returns why they are unavailable; never throws. */
export function findNativeSockets({ platform, arch, require }: NativeHost): NativeSockets | NativeAbsence {
  if (platform !== "linux") return { reason: `Socket options are read on Linux only, and this is ${platform}.` };
  if (!knownArchitectures.includes(arch)) {
    return { reason: `Socket options are read on ${knownArchitectures.join(", ")} only, and this is ${arch}.` };
  }
  try {
    return bindSockets(require("koffi") as Koffi);
  } catch (error) {
    return { reason: reasonOf(error) };
  }
}

let outcome: NativeSockets | NativeAbsence | undefined;

/** The native calls of this process; undefined if they cannot be loaded. Loaded with the first use, in some milliseconds. */
export function nativeSockets(): NativeSockets | undefined {
  const found = nativeOutcome();
  return "reason" in found ? undefined : found;
}

/** Loads the native part of socket options, so that no later read has to. Returns whether there will be options. */
export function loadSocketOptions(): boolean {
  return nativeSockets() !== undefined;
}

/** Why no socket shows its options in this process, and what to do; undefined if they do. Loads the native part. */
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
  // Every call is synchronous and its result is read at once, so one buffer serves all.
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
    return "Socket options need the optional package koffi, which is not installed. Run `npm install koffi` to see them.";
  }
  const [words] = String(error instanceof Error ? error.message : error).split("\n");
  return `Socket options need the package koffi, which cannot be loaded here: ${words}`;
}
