import { type Clock, steadyClock } from "../../clock.js";
import type { ToolServerError } from "../../errors.js";
import { createVaultListeners } from "./create-vault.js";
import type { Vault } from "./vault.js";

/** Milliseconds between attempts to open a vault. */
const reopenPauseMs = 2000;

/**
 * Replaces a vault that cannot be opened. Everything that needs an entry rejects with `failure`, so a server that needs no
 * vault works, and another one says what is wrong. With `reopen`, operations try to open it again, at most every 2 s, and then use it; watchers are
 * called when it opens.
 */
export function createUnavailableVault(
  failure: ToolServerError,
  reopen?: () => Promise<Vault>,
  clock: Pick<Clock, "now"> = steadyClock,
): Vault {
  let opening: Promise<Vault> = Promise.reject(failure);
  opening.catch(() => {});
  let opened: Vault | undefined;
  let reason: unknown = failure;
  /** Undefined while it is being opened, and once it is open. */
  let failedAt: number | undefined = clock.now();
  let isDisposed = false;
  const listeners = createVaultListeners();

  const onOpened = (vault: Vault): void => {
    opened = vault;
    vault.watch(listeners.notify);
    listeners.notify();
  };
  const onFailed = (error: unknown): void => {
    reason = error;
    failedAt = clock.now();
  };
  const open = (): Promise<Vault> => {
    const isDue = failedAt !== undefined && clock.now() - failedAt >= reopenPauseMs;
    if (isDue && reopen !== undefined && !isDisposed) {
      failedAt = undefined;
      opening = reopen();
      opening.then(onOpened, onFailed);
    }
    return opening;
  };

  return {
    get kind() {
      return opened?.kind ?? "file";
    },
    describe() {
      if (opened !== undefined) return opened.describe();
      const warning = reason instanceof Error ? reason.message : String(reason);
      return { kind: "file", summary: "Tokens cannot be read or stored.", warning };
    },
    get: async (key) => (await open()).get(key),
    list: async (parts) => (await open()).list(parts),
    withLock: async (key, task, options) => (await open()).withLock(key, task, options),
    watch: listeners.add,
    async dispose() {
      isDisposed = true;
      listeners.clear();
      const vault = await opening.catch(() => undefined);
      await vault?.dispose();
    },
  };
}
