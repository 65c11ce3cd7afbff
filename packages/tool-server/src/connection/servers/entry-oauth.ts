import { createIdentityLogin, type IdentityLoginOptions } from "../../auth/oauth/login/identity.js";
import type { OAuthLoginOptions } from "../../auth/oauth/login/login-options.js";
import type { LoginSettings } from "../../auth/oauth/oauth-context.js";
import { createOAuthLog, type OAuthLog } from "../../auth/oauth/oauth-log.js";
import type { Ask } from "../../auth/oauth/sign-in/ask.js";
import type { MachineGrant } from "../../auth/oauth/tokens/machine-grant.js";
import type { Vault } from "../../auth/vault/vault.js";
import type { Clock } from "../../clock.js";
import { authorizationParameters, type OAuthSettingsOf } from "../../config/oauth-settings.js";
import type { ResolvedCommand } from "../../config/substitute-entry.js";
import type { ConnectionInfo } from "../../connection-info.js";
import type { Reporter, TrackOperation } from "../../diagnostics.js";
import type { HttpClient } from "../../http/http-client.js";
import type { SecretRegistry } from "../../secrets/redactor.js";

/** The command of a client secret in the user's own file. It needs no approval, and runs in the folder of that file without a sandbox. */
export interface OwnSecretCommand {
  readonly command: ResolvedCommand;
  readonly folder: string;
}

/** OAuth settings of one server. */
export type OAuthOverrides = Pick<OAuthLoginOptions, keyof LoginSettings | "client" | "clientMetadataUrl" | "grant"> & {
  /** The identity provider whose stored sign-in is exchanged for access to this server (enterprise-managed authorization). */
  readonly identityProvider?: Pick<IdentityLoginOptions, "issuer" | "clientId"> | undefined;
  /** Obtains the secret of `client`. */
  readonly secretCommand?: OwnSecretCommand | undefined;
  /** The settings that the functions of `grant` use, such as the path of a file: functions cannot be compared. */
  readonly grantSettings?: readonly string[] | undefined;
};

/** Converts settings of an entry or of the user's file to overrides; those that are not set are omitted. */
export function overridesOf(settings: OAuthSettingsOf<string>, readSecret?: () => Promise<string>): OAuthOverrides {
  const { clientId, clientSecret, keyId, algorithm, callbackHost, callbackPort: port } = settings;
  const { issuer, clientMetadataUrl, scopes, resource, assumePkce, bindsTokens } = settings;
  const host = callbackHost === "localhost" || callbackHost === "127.0.0.1" ? callbackHost : undefined;
  const parameters = authorizationParameters(settings);
  const all: OAuthOverrides = {
    client: clientId === undefined ? undefined : { clientId, clientSecret, readSecret, keyId, algorithm },
    redirect: host === undefined && port === undefined ? undefined : { host, port },
    authorizeParameters: Object.keys(parameters).length === 0 ? undefined : parameters,
    issuer,
    clientMetadataUrl,
    scopes,
    resource,
    assumePkce,
    bindsTokens,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** How to sign in to servers that use OAuth. */
export interface OAuthSettings {
  /** Stores the tokens. It is not disposed of with the servers. */
  readonly vault: Vault;
  /** The user's profile, such as `development`: profiles share no tokens. Default `default`. */
  readonly profile?: string | undefined;
  /** Asks the user to sign in, after an action of the user. Default: never, and no browser opens. */
  readonly signIn?: Ask | undefined;
  /** The command to sign in to a server, for errors. Default: `wirescope login` and its name. */
  readonly loginCommand?: ((server: string) => string) | undefined;
  /** Whether sign-in endpoints on a loopback host may use http. Default: only for servers with an http url. */
  readonly allowInsecureLoopback?: boolean | undefined;
  /** The settings for a server with this name and URL; each takes precedence over that of the entry. */
  readonly overrides?: ((server: string, url: string) => OAuthOverrides) | undefined;
}

export interface EntryOAuthOptions {
  readonly settings: OAuthSettings;
  readonly info: ConnectionInfo;
  readonly server: string;
  readonly url: string;
  readonly oauth?: OAuthSettingsOf<string> | undefined;
  /** Creates what runs the command of its client secret; undefined if there is none. */
  readonly secretReader: (own?: OwnSecretCommand) => (() => Promise<string>) | undefined;
  readonly http: HttpClient;
  readonly secrets: SecretRegistry;
  readonly clock: Clock;
  readonly report: Reporter;
  /** Publishes operations. Default: nothing is published. */
  readonly track?: TrackOperation | undefined;
}

/**
 * The options of a server's OAuth session, which also identify its tokens in the vault. Its events are reported in the trace of the
 * connection.
 */
export function entryOAuthOptions(options: EntryOAuthOptions): OAuthLoginOptions {
  const { settings, info, server, url, http, secrets, clock, report, track } = options;
  const { vault, profile = "default" } = settings;
  // The approval of the entry allows http to this machine.
  const allowInsecureLoopback = settings.allowInsecureLoopback || new URL(url).protocol === "http:";
  // Tokens, codes and verifiers are replaced as long as the process runs; a refresh adds up to four.
  const { add } = secrets.rotating(64);
  const createLog = (): OAuthLog => {
    const log = createOAuthLog({ secrets, clock, track });
    log.subscribe(({ severity, text }) => {
      if (text !== "") report(info, severity, text);
    });
    return log;
  };
  const tokens = { add, redact: secrets.redact };
  const shared = { profile, vault, http, secrets: tokens, clock, allowInsecureLoopback };
  const { identityProvider, secretCommand, grantSettings: _, ...overrides } = settings.overrides?.(server, url) ?? {};
  const { client } = overrides;
  const ofEntry = overridesOf(options.oauth ?? {}, options.secretReader());
  return {
    ...ofEntry,
    ...overrides,
    authorizeParameters: { ...ofEntry.authorizeParameters, ...overrides.authorizeParameters },
    ...(client && secretCommand && { client: { ...client, readSecret: options.secretReader(secretCommand) } }),
    ...(identityProvider === undefined
      ? {}
      : { grant: enterpriseGrant({ ...identityProvider, ...shared, log: createLog() }) }),
    ...shared,
    // Not that of the identity provider: its sign-in is another one.
    log: createLog(),
    server,
    url,
    tenant: JSON.stringify(Object.entries(info.tenant).sort()),
  };
}

function enterpriseGrant(options: IdentityLoginOptions): MachineGrant {
  const login = createIdentityLogin(options);
  return { kind: "enterprise", url: options.issuer, identity: () => login.identity() };
}
