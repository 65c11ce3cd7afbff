import { type Clock, systemClock } from "../../../clock.js";
import type { HttpClient } from "../../../http/http-client.js";
import type { SecretRegistry } from "../../../secrets/redactor.js";
import { parseUrl } from "../../../url.js";
import type { Vault } from "../../vault/vault.js";
import type { ConfiguredClient } from "../clients/oauth-client.js";
import { defaultOAuthLimits, type LoginSettings, type OAuthContext, type OAuthLimits } from "../oauth-context.js";
import { createOAuthLog, type OAuthLog } from "../oauth-log.js";
import { createAddressGuard } from "../requests/address-guard.js";
import type { MachineGrant } from "../tokens/machine-grant.js";

/** The server, the vault and the client of a login. */
export interface OAuthLoginOptions extends LoginSettings {
  /** The name of the tool server. */
  readonly server: string;
  /** Its url, with its variables substituted. */
  readonly url: string;
  /** The person to whom the sign-in belongs. Default: the one who runs the process. */
  readonly owner?: string | undefined;
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
  /** A client that was registered manually. Default: a metadata document, or a registration. */
  readonly client?: ConfiguredClient | undefined;
  /** The url of a client-id metadata document, for servers that support it. Default: that of the build, if it has one. */
  readonly clientMetadataUrl?: string | undefined;
  /** A way to get tokens without a user. Default: a user signs in. */
  readonly grant?: MachineGrant | undefined;
  /** Whether the url is the issuer of an identity provider, whose identity tokens are wanted. Default false. */
  readonly isIdentityProvider?: boolean | undefined;
  /** Reports what happens. Default: a new one, whose operations are not published. */
  readonly log?: OAuthLog | undefined;
}

/** The context of the OAuth steps. Throws a TypeError if the url is invalid. */
export function contextOf(options: OAuthLoginOptions): OAuthContext {
  const {
    server,
    owner = "",
    profile,
    tenant = "",
    vault,
    http,
    secrets,
    clock = systemClock,
    limits,
    grant,
  } = options;
  const {
    allowInsecureLoopback = false,
    isIdentityProvider = false,
    log = createOAuthLog({ secrets, clock }),
  } = options;
  const url = new URL(options.url);
  url.hash = "";
  // Configured urls are trusted; the guard restricts the urls of others.
  const named = [options.issuer, grant?.kind === "enterprise" ? grant.url : undefined];
  const trusted = named.flatMap((text) => parseUrl(text ?? "") ?? []);
  return {
    server,
    url,
    owner,
    profile,
    tenant,
    settings: options,
    vault,
    http,
    addresses: createAddressGuard(url, http, trusted),
    secrets,
    clock,
    limits: { ...defaultOAuthLimits, ...limits },
    allowInsecureLoopback,
    isIdentityProvider,
    log,
  };
}
