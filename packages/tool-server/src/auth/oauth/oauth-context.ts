import type { Clock } from "../../clock.js";
import type { HttpClient } from "../../http/http-client.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import type { Vault } from "../vault/vault.js";
import type { OAuthLog } from "./oauth-log.js";
import type { AddressGuard } from "./requests/address-guard.js";

/** The settings of a login, from the configuration of the user. */
export interface LoginSettings {
  /** The issuer of the authorization server to use, exactly as published, regardless of what the tool server names. */
  readonly issuer?: string | undefined;
  /** The scopes to request instead of those of the tool server's challenge or metadata. Default: none. */
  readonly scopes?: readonly string[] | undefined;
  readonly redirect?: RedirectOptions | undefined;
  /** Whether to bind tokens to a key (DPoP) although the tool server does not require it. Default false. */
  readonly bindsTokens?: boolean | undefined;
  /** Parameters to add to authorization requests, such as `audience` or `prompt`. They do not override the standard parameters. */
  readonly authorizeParameters?: Readonly<Record<string, string>> | undefined;
  /** The resource to request tokens for (RFC 8707), or false to name none. Default: as the tool server publishes it. */
  readonly resource?: string | false | undefined;
  /** Whether to use PKCE although the metadata of the authorization server does not list S256. Default false: the sign-in fails. */
  readonly assumePkce?: boolean | undefined;
}

/** The redirect URI of a sign-in. */
export interface RedirectOptions {
  /** The host of the redirect URI: some authorization servers accept only one of the two. Default 127.0.0.1. */
  readonly host?: "127.0.0.1" | "localhost" | undefined;
  /** The port of the redirect URI. Default: a free one, which is stored with the registration. */
  readonly port?: number | undefined;
}

/** The dependencies of the OAuth steps for one login: a tool server, profile and tenant. */
export interface OAuthContext {
  /** The name of the tool server, for messages. */
  readonly server: string;
  /** The url of the tool server. */
  readonly url: URL;
  /** The person to whom the sign-in belongs; empty for the one who runs the process. */
  readonly owner: string;
  /** The user's profile: profiles share no tokens. */
  readonly profile: string;
  /** The tenant; empty for none. */
  readonly tenant: string;
  readonly settings: LoginSettings;
  /** Stores the tokens. */
  readonly vault: Vault;
  /** Sends all requests, so that one proxy and one set of certificates apply to every hop. */
  readonly http: HttpClient;
  /** Checks the addresses that the tool server refers to. */
  readonly addresses: AddressGuard;
  /** Tokens, codes, verifiers and client secrets are added to it as soon as they exist. */
  readonly secrets: Pick<SecretRegistry, "add" | "redact">;
  readonly clock: Clock;
  readonly limits: OAuthLimits;
  /** Whether http is accepted for a loopback host. */
  readonly allowInsecureLoopback: boolean;
  /** Whether the url is the issuer of an identity provider, whose identity tokens are wanted. */
  readonly isIdentityProvider: boolean;
  readonly log: OAuthLog;
}

/** The limits of an OAuth login: sizes in bytes, times in milliseconds. */
export interface OAuthLimits {
  /** The time limit of one request with its body, in milliseconds. Default 10,000. */
  readonly requestMs: number;
  /** The same for a request to a token endpoint, which may be slow and must not be repeated without need. Default 30,000. */
  readonly tokenMs: number;
  /** The time limit of a renewal with all its attempts: less than `tokenLockWaitMs`, for which others wait for it. Default 50,000. */
  readonly renewalMs: number;
  /** The time limit of a discovery, in milliseconds. Default 30,000. */
  readonly discoveryMs: number;
  /** The maximum number of requests of a discovery. Default 16. */
  readonly discoveryRequests: number;
  /** The maximum size of a response body, in bytes. Default 256 KiB. */
  readonly responseBytes: number;
  /** The time limit for a user to sign in, in milliseconds. Default 300,000. */
  readonly signInMs: number;
}

export const defaultOAuthLimits: OAuthLimits = {
  requestMs: 10_000,
  tokenMs: 30_000,
  renewalMs: 50_000,
  discoveryMs: 30_000,
  discoveryRequests: 16,
  responseBytes: 256 * 1024,
  signInMs: 300_000,
};
