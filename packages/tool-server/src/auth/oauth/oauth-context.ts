import type { Clock } from "../../clock.js";
import type { TrackOperation } from "../../diagnostics.js";
import type { HttpClient } from "../../http/http-client.js";
import { printableText } from "../../printable-text.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import type { OAuthObserver } from "./oauth-step.js";
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
  /** Called for each step. Must not throw. */
  readonly onEvent: (event: OAuthEvent) => void;
  /** Receives each request and its response, redacted. Default: none. */
  readonly observer?: OAuthObserver | undefined;
  /** Publishes operations that take time. Default: nothing is published. */
  readonly track?: TrackOperation | undefined;
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

/** The steps that are reported. */
export type OAuthEventKind =
  /** The authorization server of the tool server was found. */
  | "discovered"
  /** A document or a server was skipped in a discovery. */
  | "discovery-skipped"
  /** The tool server names another authorization server than before. */
  | "issuer-changed"
  | "client-registered"
  /** A registration is no longer accepted, and no longer used. */
  | "client-dropped"
  /** Another process is signing in to the same server. */
  | "sign-in-waiting"
  | "sign-in-started"
  | "sign-in-done"
  | "sign-in-failed"
  /** A callback was rejected because it does not belong to the sign-in. */
  | "callback-refused"
  | "refresh-started"
  | "refreshed"
  | "refresh-failed"
  /** Another process already refreshed the token. */
  | "token-adopted"
  /** Tokens are no longer accepted, and no longer used. */
  | "tokens-dropped"
  | "signed-out";

/** One step of OAuth, for traces and for debugging. Contains no secret. */
export interface OAuthEvent {
  readonly kind: OAuthEventKind;
  readonly severity: "info" | "warning" | "error";
  /** For people; redacted. */
  readonly text: string;
}

const maxTextLength = 1000;

/** Reports a step, redacted. */
export function reportEvent(
  { secrets, onEvent }: { readonly secrets: Pick<SecretRegistry, "redact">; onEvent(event: OAuthEvent): void },
  kind: OAuthEventKind,
  text: string,
  severity: OAuthEvent["severity"] = "info",
): void {
  onEvent({ kind, severity, text: printableText(secrets.redact(text), maxTextLength) });
}
