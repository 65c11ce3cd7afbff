import { join } from "node:path";
import type { Clock } from "../../clock.js";
import { ToolServerError } from "../../errors.js";
import { withFileLock } from "../../files/file-lock.js";
import type { LockOptions } from "./vault.js";
import { asVaultFailure } from "./vault-failure.js";

export interface FolderLockOptions extends LockOptions {
  /** Sends away who waits. */
  readonly closing?: AbortSignal;
  /** What is locked, in words. */
  readonly subject: string;
}

/** Locks by name, for all processes that use this folder. */
export interface FolderLocks {
  run<T>(name: string, task: (signal: AbortSignal) => Promise<T>, options: FolderLockOptions): Promise<T>;
}

/** `folder` is its real path. */
export function createFolderLocks(folder: string, clock: Clock): FolderLocks {
  return {
    run(name, task, { subject, ...options }) {
      const path = join(folder, `${name}.lock`);
      const failure = (problem: string, advice: string): ToolServerError =>
        new ToolServerError("VAULT_LOCKED", { problem, advice });
      return withFileLock(path, task, {
        ...options,
        clock,
        tooLong: (holder, waitMs) =>
          failure(
            `The ${subject} was in use by ${holder} for ${waitMs} ms (${path}).`,
            "Try again, or end the one that uses it if it hangs.",
          ),
        lost: () => failure(`The lock ${path} was lost to another process.`, "Try again."),
        failed: (error) => asVaultFailure(path, "locked", error),
      });
    },
  };
}
