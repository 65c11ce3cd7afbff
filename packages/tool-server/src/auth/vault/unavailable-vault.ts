import type { ToolServerError } from "../../errors.js";
import type { Vault } from "./vault.js";

/**
 * Replaces a vault that cannot be opened. Everything that needs an entry rejects with `failure`, so a server that needs no
 * vault works, and another one says what is wrong.
 */
export function createUnavailableVault(failure: ToolServerError): Vault {
  const fail = async (): Promise<never> => {
    throw failure;
  };
  return {
    kind: "file",
    describe: () => ({ kind: "file", summary: "Tokens cannot be read or stored.", warning: failure.message }),
    get: fail,
    put: fail,
    reserve: fail,
    setAside: fail,
    deleteIf: fail,
    list: fail,
    withLock: fail,
    watch: () => () => {},
    dispose: async () => {},
  };
}
