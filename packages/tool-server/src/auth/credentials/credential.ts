import type { CredentialDescription, CredentialKind } from "../../connection-info.js";
import { ToolServerError, type ToolServerErrorCode } from "../../errors.js";
import type { HeaderFields } from "./header-fields.js";

/**
 * What a request carries, and what to do when it is refused. Whatever resolves a secret makes it known to the registry that
 * it was created with; nothing that a credential tells or throws holds one.
 */
export interface Credential {
  readonly kind: CredentialKind;
  /**
   * What a request to the server carries. Ask for each request: it is the same object until the credential renewed it.
   * Rejects with a ToolServerError, or with the signal's reason where the caller gave up.
   */
  headers(request?: CredentialRequest): Promise<HeaderFields>;
  /**
   * What `headers` would give, where nobody need wait for it; undefined where somebody must. Throws as `headers` rejects. Absent
   * where it always takes waiting.
   */
  headersNow?(): HeaderFields | undefined;
  /** What a stdio server gets in its environment, besides what every child gets. */
  environment(): Readonly<Record<string, string>>;
  /**
   * What to do about a refusal. Of one request, at most the first is answered with a retry. Two things do not count: a demand for
   * a nonce, which is no refusal of the credential, and a person who signed in.
   */
  refused(refusal: Refusal): Promise<RefusalDecision>;
  /** How it signs in, for people and for diagnosis. */
  describe(): CredentialDescription;
  /** Ends all that it began. From then on `headers` rejects with CREDENTIAL_CLOSED. */
  dispose(): Promise<void>;
}

/** For whom headers are asked. */
export interface CredentialRequest {
  readonly signal?: AbortSignal | undefined;
  /** The method and url of the request, for a credential that signs each one; default: POST, and the server's own url. */
  readonly method?: string | undefined;
  readonly url?: URL | undefined;
}

/** A request that the server refused. */
export interface Refusal {
  /** The status of HTTP. */
  readonly status: number;
  /** What the request carried: the very object that `headers` gave. */
  readonly sent: HeaderFields;
  /** How often this request has been sent, from 1. */
  readonly attempt: number;
  /** The WWW-Authenticate header of the answer. */
  readonly challenge?: string | undefined;
  /** The Date header of the answer. */
  readonly date?: string | undefined;
  /** The DPoP-Nonce header of the answer. */
  readonly dpopNonce?: string | undefined;
  /** Aborts when the caller of the request gives up: nobody is asked to sign in for it any more. */
  readonly signal?: AbortSignal | undefined;
}

/** Send the request again with the headers that `headers` gives now; or fail, for this reason. */
export type RefusalDecision =
  | { readonly action: "retry" }
  | {
      readonly action: "give-up";
      readonly reason: string;
      /** What to do next, if the credential knows it. */
      readonly advice?: string | undefined;
      /** Where the failure has a name of its own, such as SIGN_IN_NEEDED; else the status decides. */
      readonly code?: ToolServerErrorCode | undefined;
    };

/** The error of a credential that is asked for headers after it was disposed of. */
export function credentialClosed(server: string): ToolServerError {
  return new ToolServerError("CREDENTIAL_CLOSED", {
    problem: `The credential of the server ${JSON.stringify(server)} was disposed of.`,
    advice: "Create a new connection to use it.",
  });
}
