import { type Clock, systemClock } from "../../../clock.js";
import type { TrackOperation } from "../../../diagnostics.js";
import type { HttpClient } from "../../../http/http-client.js";
import type { SecretRegistry } from "../../../secrets/redactor.js";
import { parseUrl } from "../../../url.js";
import type { Vault, VaultKey } from "../../vault/vault.js";
import type { ConfiguredClient } from "../clients/oauth-client.js";
import { defaultOAuthLimits, type OAuthContext, type OAuthEvent, type OAuthLimits } from "../oauth-context.js";
import { createAddressJudge } from "../requests/address-judge.js";
import type { RedirectOptions } from "../sign-in/callback-receiver.js";
import type { MachineGrant } from "../tokens/machine-grant.js";

/** The server, the vault and the client of an OAuth session. */
export interface OAuthSessionOptions {
  /** The name of the tool server. */
  readonly server: string;
  /** Its url, with its variables put in. */
  readonly url: string;
  /** The user's profile: profiles share no tokens. */
  readonly profile: string;
  /** What chooses the tenant; default none. */
  readonly tenant?: string | undefined;
  /** Where tokens rest. */
  readonly vault: Vault;
  readonly http: HttpClient;
  readonly secrets: Pick<SecretRegistry, "add" | "redact">;
  readonly clock?: Clock | undefined;
  readonly limits?: Partial<OAuthLimits> | undefined;
  /** Whether http is accepted for a loopback host. Default false. */
  readonly allowInsecureLoopback?: boolean | undefined;
  /** The authorization server to use, whatever the tool server names; exactly as that publishes its issuer. */
  readonly issuer?: string | undefined;
  /** A client that was registered by hand. Default: a metadata document, or a registration. */
  readonly client?: ConfiguredClient | undefined;
  /** The url of a client-id metadata document, for servers that take one. */
  readonly clientMetadataUrl?: string | undefined;
  /** The permissions to ask for where the tool server's challenge names none. Default: those of its metadata. */
  readonly scopes?: readonly string[] | undefined;
  readonly redirect?: RedirectOptions | undefined;
  /** A way to get tokens without a person. Default: a person signs in. */
  readonly grant?: MachineGrant | undefined;
  /** Whether to bind tokens to a key (DPoP) though the tool server does not ask for it. Default false. */
  readonly bindsTokens?: boolean | undefined;
  /** Told of each step. Must not throw. */
  readonly onEvent?: ((event: OAuthEvent) => void) | undefined;
  /** Publishes operations that take time. Default: nothing is published. */
  readonly track?: TrackOperation | undefined;
}

/** What the steps of OAuth work with. Throws a TypeError where the url is none. */
export function contextOf(options: Omit<OAuthSessionOptions, "profile" | "vault">): OAuthContext {
  const { server, http, secrets, clock = systemClock, limits, allowInsecureLoopback = false, grant, issuer } = options;
  const url = new URL(options.url);
  url.hash = "";
  // Where the user says to go, we go: the judge is about where others send us.
  const named = [issuer, grant?.kind === "enterprise" ? grant.provider.tokenEndpoint : undefined];
  const trusted = named.flatMap((text) => parseUrl(text ?? "") ?? []);
  return {
    server,
    url,
    http,
    addresses: createAddressJudge(url, http, trusted),
    secrets,
    clock,
    limits: { ...defaultOAuthLimits, ...limits },
    allowInsecureLoopback,
    onEvent: options.onEvent ?? (() => undefined),
    track: options.track,
  };
}

/** The place in the vault for an item of an issuer; the issuer is empty for what is kept before one is known. */
export function vaultKeyOf(options: OAuthSessionOptions, issuer: string, item: SessionItem): VaultKey {
  const { profile, server, tenant = "" } = options;
  return { profile, server, resource: new URL(options.url).href, issuer, tenant, item };
}

/** What rests in the vault for a session. The last is only a name to lock. */
export type SessionItem = "issuer" | "client" | "tokens" | "sign-in";
