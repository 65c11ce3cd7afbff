import type { ToolServerError } from "../../../errors.js";
import { stringList, stringOf } from "../../../json-object.js";
import type { Vault, VaultKey } from "../../vault/vault.js";
import { type OAuthContext, tellEvent } from "../oauth-context.js";
import { oauthFailure, peerText } from "../oauth-errors.js";

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
      const issuer = stringOf(entry.value.issuer);
      if (issuer !== undefined) {
        const { confirmedOrigins, requestedScopes } = entry.value;
        return {
          issuer,
          confirmedOrigins: stringList(confirmedOrigins) ?? [],
          requestedScopes: stringList(requestedScopes) ?? [],
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

/** That the tool server names another authorization server than before. Nothing was sent to the new one but questions for its metadata. */
export function issuerChanged(context: OAuthContext, from: string, to: string): ToolServerError {
  const change = `it named ${peerText(context, from)} as its authorization server before, and names ${peerText(context, to)} now`;
  tellEvent(context, "issuer-changed", `The server changed: ${change}.`, "warning");
  return oauthFailure(
    context,
    "ISSUER_CHANGED",
    {
      problem: `${change}. Somebody may want your sign-in for themselves.`,
      advice: "Ask its operator; if the change is intended, sign in again and confirm it.",
    },
    { details: { issuerChange: { from, to } } },
  );
}
