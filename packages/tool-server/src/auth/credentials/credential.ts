import { STATUS_CODES } from "node:http";
import type { CredentialDescription, CredentialKind } from "../../connection-info.js";
import { ToolServerError, type ToolServerErrorCode, type ToolServerErrorDetails } from "../../errors.js";
import type { HeaderFields } from "./header-fields.js";

/**
 * Authenticates requests, and decides what to do when one is refused. An implementation adds every secret that it resolves to its
 * registry; nothing that it returns for people, or throws, contains one.
 */
export interface Credential {
  readonly kind: CredentialKind;
  /**
   * The headers of a request. Call it for each request: the result is the same object until the credential is renewed.
   * Rejects with a ToolServerError, or with the signal's reason.
   */
  headers(request?: CredentialRequest): Promise<HeaderFields>;
  /**
   * The result of `headers` if it is available without waiting; otherwise undefined. Throws the errors of `headers`. Absent
   * if the credential always has to wait.
   */
  headersNow?(): HeaderFields | undefined;
  /** The environment variables of a stdio server, in addition to those that every child process gets. */
  environment(): Readonly<Record<string, string>>;
  /**
   * Obtains the environment variables again, before each start of a stdio server; `environment` does not have all of them then.
   * Rejects with a ToolServerError. Absent if they never change.
   */
  prepareEnvironment?(signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /**
   * Decides about a refused request. Only the first refusal of a request may be retried, with two exceptions: a demand for
   * a DPoP nonce, which does not reject the credential, and a user who has just signed in.
   */
  refused(refusal: Refusal): Promise<RefusalDecision>;
  /** How it authenticates, for people and for diagnosis. */
  describe(): CredentialDescription;
  /** Stops everything it started. From then on `headers` rejects with CREDENTIAL_CLOSED. */
  dispose(): Promise<void>;
}

/** The request that needs headers. */
export interface CredentialRequest {
  readonly signal?: AbortSignal | undefined;
  /** The method and url of the request, for a credential that signs each one. Default: POST, and the url of the server. */
  readonly method?: string | undefined;
  readonly url?: URL | undefined;
}

/** A request that the server refused. */
export interface Refusal {
  /** The HTTP status. */
  readonly status: number;
  /** The headers that the request was sent with: the same object that `headers` returned. */
  readonly sent: HeaderFields;
  /** How often this request has been sent, from 1. */
  readonly attempt: number;
  /** The WWW-Authenticate header of the response. */
  readonly challenge?: string | undefined;
  /** The Date header of the response. */
  readonly date?: string | undefined;
  /** The DPoP-Nonce header of the response. */
  readonly dpopNonce?: string | undefined;
  /** Aborts when the caller gives up: then the user is not asked to sign in. */
  readonly signal?: AbortSignal | undefined;
}

/** Send the request again with the headers that `headers` returns now, or fail for this reason. */
export type RefusalDecision =
  | { readonly action: "retry" }
  | {
      readonly action: "give-up";
      readonly reason: string;
      /** What to do next, if the credential knows it. */
      readonly advice?: string | undefined;
      /** The error code, such as SIGN_IN_NEEDED. Default: by the status. */
      readonly code?: ToolServerErrorCode | undefined;
      /** Set if the advice is to sign in. */
      readonly signIn?: ToolServerErrorDetails["signIn"];
    };

/** A status as in a status line: `401 Unauthorized`. */
export function statusText(status: number): string {
  return [status, STATUS_CODES[status]].filter((part) => part !== undefined).join(" ");
}

/** The error of a credential that was disposed of. */
export function credentialClosed(server: string): ToolServerError {
  return new ToolServerError("CREDENTIAL_CLOSED", {
    problem: `The credential of server ${JSON.stringify(server)} was disposed of.`,
    advice: "Create a new connection to use it.",
  });
}

/** Whether a status means that the server rejects the credential or does not allow the request. */
export function isRefusal(status: number): boolean {
  return status === 401 || status === 403;
}

/** The decision to fail. Without a code, the status decides: UNAUTHORIZED or FORBIDDEN. */
export function giveUp(
  reason: string,
  advice = "",
  code?: ToolServerErrorCode,
  signIn?: ToolServerErrorDetails["signIn"],
): RefusalDecision {
  return { action: "give-up", reason, advice, code, signIn };
}

/** The decision for a credential that does not change by itself. */
export function giveUpUnchanged({ status }: Refusal): RefusalDecision {
  if (!isRefusal(status)) return giveUp(`HTTP ${status} does not concern the credential.`);
  return giveUp(`${statusText(status)}.`);
}
