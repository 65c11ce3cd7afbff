import { setMaxListeners } from "node:events";
import { join } from "node:path";
import { ToolServerError } from "../errors.js";
import type { Clock } from "../process/clock.js";
import { acquireLockFile } from "./lock-file.js";
import type { LockOwner } from "./lock-owner.js";
import { runLocked } from "./run-locked.js";
import { createTurnQueue } from "./turn-queue.js";
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

// For the whole process, by path: two vaults in one folder wait for each other without asking the disk.
const turns = createTurnQueue();
const never = new AbortController().signal;
setMaxListeners(0, never);

/** `folder` is its real path. */
export function createFolderLocks(folder: string, clock: Clock): FolderLocks {
  return {
    async run(name, task, { subject, closing = never, ...options }) {
      const path = join(folder, `${name}.lock`);
      let holder = "this process itself";
      return runLocked(task, {
        ...options,
        closing,
        clock,
        async take(signal) {
          const end = await turns.take(path, signal);
          holder = "another process";
          const onBusy = (owner: LockOwner | undefined): void => {
            if (owner !== undefined) holder = `the process ${owner.pid}`;
          };
          try {
            const held = await acquireLockFile(path, { signal, clock, onBusy });
            return { lost: held.lost, release: () => held.release().finally(end) };
          } catch (error) {
            end();
            throw signal.aborted ? error : asVaultFailure(path, "locked", error);
          }
        },
        tooLong: (waitMs) =>
          new ToolServerError(
            "VAULT_LOCKED",
            `The ${subject} was in use by ${holder} for ${waitMs} ms (${path}). Try again, or end the one that uses it if it hangs.`,
          ),
      });
    },
  };
}
