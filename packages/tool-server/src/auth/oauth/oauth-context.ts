import type { Clock } from "../../clock.js";
import type { HttpClient } from "../../http/http-client.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import type { OAuthLog } from "./oauth-log.js";
import type { AddressGuard } from "./requests/address-guard.js";

/** The dependencies of the OAuth steps for one tool server. */
export interface OAuthContext {
  /** The name of the tool server, for messages. */
  readonly server: string;
  /** The url of the tool server. */
  readonly url: URL;
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
  readonly log: OAuthLog;
}

/** The limits of an OAuth session: sizes in bytes, times in milliseconds. */
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
