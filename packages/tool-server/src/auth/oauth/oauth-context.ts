import type { Clock } from "../../clock.js";
import type { TrackOperation } from "../../diagnostics.js";
import type { HttpClient } from "../../http/http-client.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import type { OAuthEvent } from "./oauth-event.js";
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
