import type { Vault, VaultKey } from "../../vault/vault.js";
import { textList, textOf } from "../discovery/json-fields.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure } from "../oauth-failure.js";

/** What a sign-in settled about the authorization server. */
export interface IssuerPin {
  /** The issuer, exactly as it was published. */
  readonly issuer: string;
  /** Origins other than the issuer's at which the user agreed to sign in. */
  readonly confirmedOrigins: readonly string[];
  /** The permissions that the last sign-in asked for: they outlive its tokens, until somebody signs out. */
  readonly requestedScopes: readonly string[];
}

/** The authorization server of a tool server, pinned by the first sign-in: only another sign-in can change it. */
export interface IssuerStore {
  /** Undefined before the first sign-in. */
  read(): Promise<IssuerPin | undefined>;
  write(pin: IssuerPin): Promise<void>;
}

export function createIssuerStore(
  context: Pick<OAuthContext, "server" | "secrets">,
  vault: Vault,
  key: VaultKey,
): IssuerStore {
  return {
    async read() {
      const entry = await vault.get(key);
      if (entry === undefined) return undefined;
      const issuer = textOf(entry.value.issuer);
      if (issuer !== undefined) {
        const { confirmedOrigins, requestedScopes } = entry.value;
        return {
          issuer,
          confirmedOrigins: textList(confirmedOrigins) ?? [],
          requestedScopes: textList(requestedScopes) ?? [],
        };
      }
      throw oauthFailure(context, "VAULT_UNREADABLE", {
        problem: "what the vault keeps of its authorization server is of a form that this version does not know.",
        advice: "Sign in again.",
      });
    },
    async write({ issuer, confirmedOrigins, requestedScopes }) {
      const value = { issuer, confirmedOrigins: [...confirmedOrigins], requestedScopes: [...requestedScopes] };
      const kept = (await vault.get(key))?.value;
      if (JSON.stringify(kept) !== JSON.stringify(value)) await vault.put(key, value);
    },
  };
}
