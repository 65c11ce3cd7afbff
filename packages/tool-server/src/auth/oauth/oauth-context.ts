import type { Clock } from "../../clock.js";
import type { TrackOperation } from "../../diagnostics.js";
import type { HttpClient } from "../../http/http-client.js";
import { printableText } from "../../printable-text.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import type { AddressJudge } from "./requests/address-judge.js";

/** What every step of OAuth needs for one tool server. */
export interface OAuthContext {
  /** The name of the tool server, for messages. */
  readonly server: string;
  /** The url of the tool server. */
  readonly url: URL;
  /** Carries all requests, so that one proxy and one set of certificates hold for every leg. */
  readonly http: HttpClient;
  /** Judges where the tool server sends us. */
  readonly addresses: AddressJudge;
  /** Where tokens, codes, verifiers and client secrets are made known as soon as they exist. */
  readonly secrets: Pick<SecretRegistry, "add" | "redact">;
  readonly clock: Clock;
  readonly limits: OAuthLimits;
  /** Whether http is accepted for a loopback host. */
  readonly allowInsecureLoopback: boolean;
  /** Told of each step. Must not throw. */
  readonly onEvent: (event: OAuthEvent) => void;
  /** Publishes operations that take time. Default: nothing is published. */
  readonly track?: TrackOperation | undefined;
}

/** The limits of an OAuth session: sizes in bytes, times in milliseconds. */
export interface OAuthLimits {
  /** How long one request may take, with its body, in milliseconds. Default 10,000. */
  readonly requestMs: number;
  /** How long a discovery may take in all, in milliseconds. Default 30,000. */
  readonly discoveryMs: number;
  /** How many requests a discovery may send. Default 16. */
  readonly discoveryRequests: number;
  /** The largest body that is read, in bytes. Default 256 KiB. */
  readonly answerBytes: number;
  /** How long a person may take to sign in, in milliseconds. Default 300,000. */
  readonly signInMs: number;
}

export const defaultOAuthLimits: OAuthLimits = {
  requestMs: 10_000,
  discoveryMs: 30_000,
  discoveryRequests: 16,
  answerBytes: 256 * 1024,
  signInMs: 300_000,
};

/** The steps that are told of. */
export type OAuthEventKind =
  /** The authorization server of the tool server was found. */
  | "discovered"
  /** A document or a server was passed over in a discovery. */
  | "discovery-skipped"
  /** The tool server names another authorization server than before. */
  | "issuer-changed"
  | "client-registered"
  /** A registration is dead and no longer used. */
  | "client-dropped"
  /** Another process lets a person sign in to the same server. */
  | "sign-in-waiting"
  | "sign-in-started"
  | "sign-in-done"
  | "sign-in-failed"
  /** A callback came that does not belong to the sign-in. */
  | "callback-refused"
  | "refresh-started"
  | "refreshed"
  | "refresh-failed"
  /** Another process had refreshed the token already. */
  | "token-adopted"
  /** Tokens are dead and no longer used. */
  | "tokens-dropped"
  | "signed-out";

/** One step of OAuth, for traces and for debugging. Holds no secret. */
export interface OAuthEvent {
  readonly kind: OAuthEventKind;
  readonly severity: "info" | "warning" | "error";
  /** For people; redacted. */
  readonly text: string;
}

const longestText = 1000;

/** Tells of a step, with secrets taken out. */
export function tellEvent(
  { secrets, onEvent }: { readonly secrets: Pick<SecretRegistry, "redact">; onEvent(event: OAuthEvent): void },
  kind: OAuthEventKind,
  text: string,
  severity: OAuthEvent["severity"] = "info",
): void {
  onEvent({ kind, severity, text: printableText(secrets.redact(text), longestText) });
}
