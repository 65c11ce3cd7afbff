import { readdirSync } from "node:fs";
import { createRequire } from "node:module";

/** What is used of koffi. Its own types are not imported: it may be missing when this is compiled. */
interface Koffi {
  load(path: null): { func(definition: string): (...args: readonly unknown[]) => unknown };
}

const setDumpable = 4;
const [setDescriptorFlags, closeOnExec] = [2, 1];
/** What the names of variables with a key, or with its place, begin with. */
const keyPrefix = "WIRESCOPE_VAULT_";

let outcome: { readonly problem: string | undefined } | undefined;

/**
 * Closes this process to the other programs of its user, such as the servers that it starts: Node's debugger does not open on a
 * signal, the key of the vault is removed from the environment, and on Linux the kernel closes `/proc/<pid>` and denies tracing,
 * and no program that is started later inherits a descriptor which this process was started with.
 * Gives the reason if that is not possible. Takes about 13 ms, once.
 */
export function protectProcess(): string | undefined {
  outcome ??= { problem: protect() };
  return outcome.problem;
}

function protect(): string | undefined {
  // Node listens for a debugger when it gets this signal, unless it is handled.
  process.on("SIGUSR1", () => {});
  const problem = process.platform === "linux" ? closeToKernel(createRequire(import.meta.url)) : undefined;
  for (const name of keyVariables()) delete process.env[name];
  return problem;
}

function keyVariables(): string[] {
  return Object.keys(process.env).filter((name) => name.startsWith(keyPrefix));
}

/** Has the kernel close this process, with what `require` finds; gives the reason if that is not possible. */
export function closeToKernel(require: (name: string) => unknown): string | undefined {
  try {
    const koffi = require("koffi") as Koffi;
    const library = koffi.load(null);
    const getenv = library.func("void *getenv(const char *)");
    const strlen = library.func("size_t strlen(void *)");
    const memset = library.func("void *memset(void *, int, size_t)");
    // The environment that a process was started with stays in its memory, and in /proc, even if a variable is unset later.
    for (const name of keyVariables()) {
      const value = getenv(name);
      if (value !== null) memset(value, 0, strlen(value));
    }
    // Node closes those below 16 to other programs, and above that only those that follow each other.
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
