import { type Clock, systemClock } from "../../../clock.js";
import type { HttpClient } from "../../../http/http-client.js";
import type { SecretRegistry } from "../../../secrets/redactor.js";
import { parseUrl } from "../../../url.js";
import type { Vault, VaultKey } from "../../vault/vault.js";
import type { ConfiguredClient } from "../clients/oauth-client.js";
import type { RequestSettings } from "../discovery/known-issuers.js";
import { defaultOAuthLimits, type OAuthContext, type OAuthLimits } from "../oauth-context.js";
import { createOAuthLog, type OAuthLog } from "../oauth-log.js";
import { createAddressGuard } from "../requests/address-guard.js";
import type { RedirectOptions } from "../sign-in/callback-receiver.js";
import type { MachineGrant } from "../tokens/machine-grant.js";

/** The server, the vault and the client of an OAuth session. */
export interface OAuthSessionOptions extends RequestSettings {
  /** The name of the tool server. */
  readonly server: string;
  /** Its url, with its variables substituted. */
  readonly url: string;
  /** The user's profile: profiles share no tokens. */
  readonly profile: string;
  /** The tenant. Default: none. */
  readonly tenant?: string | undefined;
  /** Stores the tokens. */
  readonly vault: Vault;
  readonly http: HttpClient;
  readonly secrets: Pick<SecretRegistry, "add" | "redact">;
  readonly clock?: Clock | undefined;
  readonly limits?: Partial<OAuthLimits> | undefined;
  /** Whether http is accepted for a loopback host. Default false. */
  readonly allowInsecureLoopback?: boolean | undefined;
  /** The issuer of the authorization server to use, exactly as published, regardless of what the tool server names. */
  readonly issuer?: string | undefined;
  /** A client that was registered manually. Default: a metadata document, or a registration. */
  readonly client?: ConfiguredClient | undefined;
  /** The url of a client-id metadata document, for servers that support it. Default: that of the build, if it has one. */
  readonly clientMetadataUrl?: string | undefined;
  /** The scopes to request instead of those of the tool server's challenge or metadata. Default: none. */
  readonly scopes?: readonly string[] | undefined;
  readonly redirect?: RedirectOptions | undefined;
  /** A way to get tokens without a user. Default: a user signs in. */
  readonly grant?: MachineGrant | undefined;
  /** Whether to bind tokens to a key (DPoP) although the tool server does not require it. Default false. */
  readonly bindsTokens?: boolean | undefined;
  /** Reports what happens. Default: a new one, whose operations are not published. */
  readonly log?: OAuthLog | undefined;
}

/** The context of the OAuth steps. Throws a TypeError if the url is invalid. */
export function contextOf(options: Omit<OAuthSessionOptions, "profile" | "vault">): OAuthContext {
  const { server, http, secrets, clock = systemClock, limits, allowInsecureLoopback = false, grant, issuer } = options;
  const url = new URL(options.url);
  url.hash = "";
  // Configured urls are trusted; the guard restricts the urls of others.
  const named = [issuer, grant?.kind === "enterprise" ? grant.url : undefined];
  const trusted = named.flatMap((text) => parseUrl(text ?? "") ?? []);
  return {
    server,
    url,
    http,
    addresses: createAddressGuard(url, http, trusted),
    secrets,
    clock,
    limits: { ...defaultOAuthLimits, ...limits },
    allowInsecureLoopback,
    log: options.log ?? createOAuthLog({ secrets, clock }),
  };
}

/** The vault key for an item of an issuer; the issuer is empty for items that exist before it is known. */
export function vaultKeyOf(options: OAuthSessionOptions, issuer: string, item: SessionItem): VaultKey {
  const { profile, server, tenant = "" } = options;
  return { profile, server, resource: new URL(options.url).href, issuer, tenant, item };
}

/** The items of a session in the vault. The last is only the name of a lock. */
export type SessionItem = "issuer" | "client" | "tokens" | "sign-in";
