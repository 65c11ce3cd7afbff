import { ToolServerError } from "../../../errors.js";
import type { JsonObject, Vault, VaultEntry, VaultKey } from "../../vault/vault.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure } from "../oauth-failure.js";
import { type TokenRecord, tokenRecordOf, tokenRecordToJson } from "./token-record.js";

/** Tokens as they rest in a vault, and the writing that they are of. */
export interface HeldToken {
  readonly record: TokenRecord;
  readonly revision: string;
}

/** The tokens of one server, issuer and tenant in a vault. */
export interface TokenStore {
  read(): Promise<HeldToken | undefined>;
  /** Resolves once they are durable. */
  write(record: TokenRecord): Promise<HeldToken>;
  /**
   * Makes sure that there is space for new tokens, then runs `task`, which gets how to write them. Rejects before the task if there
   * is none.
   */
  reserve<T>(task: (write: (record: TokenRecord) => Promise<HeldToken>) => Promise<T>): Promise<T>;
  /** Deletes them where they still are the ones that are meant. */
  remove(held: HeldToken): Promise<boolean>;
}

/** How long to wait for the lock of tokens: longer than a renewal with all its attempts, so that a caller that waits finds the result. */
export const tokenLockWaitMs = 60_000;
const writeTries = 3;

export function createTokenStore(
  context: Pick<OAuthContext, "server" | "secrets">,
  vault: Vault,
  key: VaultKey,
): TokenStore {
  const heldOf = ({ value, revision }: VaultEntry): HeldToken => {
    const record = tokenRecordOf(context, value);
    if (record !== undefined) return { record, revision };
    throw oauthFailure(context, "VAULT_UNREADABLE", {
      problem: "the tokens in the vault are of a form that this version does not know.",
      advice: "Sign out and in again, or use the version that wrote them.",
    });
  };
  const write = async (record: TokenRecord, put: (json: JsonObject) => Promise<VaultEntry>): Promise<HeldToken> => {
    const json = tokenRecordToJson(record);
    for (let tries = 1; ; tries += 1) {
      try {
        const { revision } = await put(json);
        return { record, revision };
      } catch (error) {
        if (tries === writeTries || !ToolServerError.is(error, "VAULT_UNREADABLE")) throw error;
      }
    }
  };
  return {
    async read() {
      const entry = await vault.get(key);
      return entry === undefined ? undefined : heldOf(entry);
    },
    write: (record) => write(record, (json) => vault.put(key, json)),
    reserve: (task) => vault.reserve(key, (put) => task((record) => write(record, put))),
    remove: ({ revision }) => vault.deleteIf(key, revision),
  };
}
