import { readdirSync } from "node:fs";
import { createRequire } from "node:module";

/** The part of koffi that is used here. Its own types are not imported, because it may be missing at compile time. */
interface Koffi {
  load(path: null): { func(definition: string): (...args: readonly unknown[]) => unknown };
}

const setDumpable = 4;
const [setDescriptorFlags, closeOnExec] = [2, 1];
/** The prefix of variables that contain a key or its location. */
const keyPrefix = "WIRESCOPE_VAULT_";

let outcome: { readonly problem: string | undefined } | undefined;

/**
 * Protects this process from other programs of its user, such as the servers that it starts: SIGUSR1 does not open Node's debugger, the
 * key of the vault is removed from the environment, and on Linux the kernel denies access to `/proc/<pid>` and tracing, and programs
 * that are started later do not inherit descriptors that this process was started with.
 * Returns the reason if that is not possible. Takes about 13 ms, once.
 */
export function protectProcess(): string | undefined {
  outcome ??= { problem: protect() };
  return outcome.problem;
}

function protect(): string | undefined {
  // Node opens its debugger on this signal, unless it is handled.
  process.on("SIGUSR1", () => {});
  const problem = process.platform === "linux" ? hardenOnLinux(createRequire(import.meta.url)) : undefined;
  for (const name of keyVariables()) delete process.env[name];
  return problem;
}

function keyVariables(): string[] {
  return Object.keys(process.env).filter((name) => name.startsWith(keyPrefix));
}

/** Protects this process with system calls, through koffi. Returns the reason if that is not possible. */
export function hardenOnLinux(require: (name: string) => unknown): string | undefined {
  try {
    const koffi = require("koffi") as Koffi;
    const library = koffi.load(null);
    const getenv = library.func("void *getenv(const char *)");
    const strlen = library.func("size_t strlen(void *)");
    const memset = library.func("void *memset(void *, int, size_t)");
    // The initial environment stays in memory and in /proc even after a variable is unset.
    for (const name of keyVariables()) {
      const value = getenv(name);
      if (value !== null) memset(value, 0, strlen(value));
    }
    // Node sets close-on-exec only on descriptors below 16, and above that only while they are contiguous.
    const fcntl = library.func("int fcntl(int, int, ...)");
    for (const descriptor of readdirSync("/proc/self/fd").map(Number)) {
      if (descriptor > 2) fcntl(descriptor, setDescriptorFlags, "int", closeOnExec);
    }
    const prctl = library.func("int prctl(int, unsigned long, unsigned long, unsigned long, unsigned long)");
    return prctl(setDumpable, 0, 0, 0, 0) === 0
      ? undefined
      : "The kernel refused to protect the memory of this process (prctl).";
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException | undefined)?.code === "MODULE_NOT_FOUND";
    return `Other programs of this user can read the memory of this process because the optional package koffi ${isMissing ? "is not installed" : "cannot be loaded"}. Install it for this platform (npm install koffi).`;
  }
}
