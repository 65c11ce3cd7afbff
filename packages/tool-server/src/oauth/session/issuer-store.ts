import type { Vault, VaultKey } from "../../vault/vault.js";
import { textOf } from "../discovery/json-fields.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure } from "../oauth-failure.js";

/** The authorization server of a tool server, pinned by the first sign-in: only who signs in again can change it. */
export interface IssuerStore {
  /** The issuer, exactly as it was published; undefined before the first sign-in. */
  read(): Promise<string | undefined>;
  write(issuer: string): Promise<void>;
}

export function createIssuerStore(
  context: Pick<OAuthContext, "server" | "secrets">,
  vault: Vault,
  key: VaultKey,
): IssuerStore {
  const read = async (): Promise<string | undefined> => {
    const entry = await vault.get(key);
    if (entry === undefined) return undefined;
    const issuer = textOf(entry.value.issuer);
    if (issuer !== undefined) return issuer;
    const message =
      "what the vault keeps of its authorization server is of a form that this version does not know. Sign in again.";
    throw oauthFailure(context, "VAULT_UNREADABLE", message);
  };
  return {
    read,
    async write(issuer) {
      if ((await vault.get(key))?.value.issuer !== issuer) await vault.put(key, { issuer });
    },
  };
}
