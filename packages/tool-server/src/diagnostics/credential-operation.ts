import type { ToolServerErrorCode } from "../errors.js";
import type { ConnectionFacts } from "./facts.js";

/** What is done for a credential, and takes its time. Discovery and registration are parts of a sign-in or a refresh. */
export type CredentialOperationKind = "refresh" | "sign-in" | "step-up" | "discovery" | "registration" | "helper";

/**
 * Why it is done. There was no token yet, it was about to expire or had, or the server refused it; a person asked for it, the tokens
 * are dead, or a permission is lacking.
 */
export type CredentialOperationCause = "first" | "renewal" | "refusal" | "asked" | "dead" | "step-up";

/** Something that is done for the credential of a connection. The same object from its start to its end. Holds no secret. */
export interface CredentialOperation {
  readonly subject: ConnectionFacts;
  readonly kind: CredentialOperationKind;
  /** Undefined for a part of another operation. */
  readonly cause: CredentialOperationCause | undefined;
}

/** How an operation came out: it gave what was wanted, another process had got that already, it failed, or was called off. */
export interface CredentialOutcome {
  readonly outcome: "done" | "adopted" | "failed" | "cancelled";
  /** What it failed for, where that has a code. */
  readonly code?: ToolServerErrorCode | undefined;
}

/** That an operation has ended. */
export interface CredentialEnding extends CredentialOutcome {
  readonly operation: CredentialOperation;
  readonly durationMs: number;
}
