import type { ToolServerError } from "../../errors.js";
import { stringList, stringOf } from "../../json-object.js";
import { type Vault, type VaultKey, writeEntry } from "../vault/vault.js";
import type { OAuthContext } from "./oauth-context.js";
import { oauthFailure, peerText } from "./oauth-errors.js";

/** The authorization server of the last sign-in. */
export interface IssuerPin {
  /** The issuer, exactly as published. */
  readonly issuer: string;
  /** Origins other than the issuer's that the user confirmed for sign-in. */
  readonly confirmedOrigins: readonly string[];
  /** The scopes that the last sign-in requested: kept until a sign-out, even if its tokens are gone. */
  readonly requestedScopes: readonly string[];
  /** Whether it published metadata; undefined if the default endpoints were used, or in an entry of an old version. */
  readonly isPublished?: true | undefined;
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
        const { confirmedOrigins, requestedScopes, isPublished } = entry.value;
        return {
          issuer,
          confirmedOrigins: stringList(confirmedOrigins) ?? [],
          requestedScopes: stringList(requestedScopes) ?? [],
          isPublished: isPublished === true ? true : undefined,
        };
      }
      throw oauthFailure(context, "VAULT_UNREADABLE", {
        problem: "the authorization server in the vault has an unknown format.",
        advice: "Sign in again.",
      });
    },
    async write({ issuer, confirmedOrigins, requestedScopes, isPublished }) {
      const value = {
        issuer,
        confirmedOrigins: [...confirmedOrigins],
        requestedScopes: [...requestedScopes],
        ...(isPublished === undefined ? {} : { isPublished }),
      };
      const kept = (await vault.get(key))?.value;
      if (JSON.stringify(kept) !== JSON.stringify(value)) await writeEntry(vault, key, value);
    },
  };
}

/**
 * The error for a tool server that names another authorization server than before. Only metadata was requested from the new one. Without
 * a user (`isMachine`), nobody can confirm the change, so the settings have to name the new one.
 */
export function issuerChanged(context: OAuthContext, from: string, to: string, isMachine = false): ToolServerError {
  const change = `its authorization server changed from ${peerText(context, from)} to ${peerText(context, to)}`;
  context.log.note("issuer-changed", `The server reports that ${change}.`, "warning");
  const problem = `${change}. This may be an attempt to steal your ${isMachine ? "credentials" : "sign-in"}.`;
  const advice = isMachine
    ? `Ask its operator; if the change is intended, set issuer to ${JSON.stringify(peerText(context, to))} in the settings of this server in oauth.json.`
    : "Ask its operator; if the change is intended, sign in again and confirm it.";
  return oauthFailure(context, "ISSUER_CHANGED", { problem, advice }, { details: { issuerChange: { from, to } } });
}
