import { ToolServerError, type ToolServerErrorCode } from "../errors.js";
import { channels } from "./channels.js";
import type {
  CredentialEnding,
  CredentialOperation,
  CredentialOperationCause,
  CredentialOperationKind,
  CredentialOutcome,
} from "./credential-operation.js";
import type { ConnectionFacts } from "./facts.js";

/**
 * Does something for a credential, and lets those who watch follow it. `settle` says how it came out where that is not plain: a task
 * that resolves is done, and one that rejects has failed.
 */
export type Follow = <T>(
  kind: CredentialOperationKind,
  cause: CredentialOperationCause | undefined,
  task: (settle: Settle) => Promise<T>,
) => Promise<T>;

/** Says how an operation came out. */
export type Settle = (outcome: CredentialOutcome) => void;

/** Does it, and tells nobody. */
export const unfollowed: Follow = (_, __, task) => task(() => {});

/** Publishes what is done for the credential of a connection. Where nobody listens it costs a look. */
export function createFollow(subject: ConnectionFacts): Follow {
  const { "credential:started": started, "credential:ended": ended } = channels;
  return async (kind, cause, task) => {
    if (!started.hasSubscribers && !ended.hasSubscribers) return unfollowed(kind, cause, task);
    const operation: CredentialOperation = { subject, kind, cause };
    const startedAt = performance.now();
    let outcome: CredentialOutcome = { outcome: "done" };
    try {
      // Within the stores that were bound to the channel: what is done below is known to be part of this.
      return await started.runStores(operation, () =>
        task((told) => {
          outcome = told;
        }),
      );
    } catch (error) {
      outcome = outcomeOf(error);
      throw error;
    } finally {
      const ending: CredentialEnding = { operation, ...outcome, durationMs: performance.now() - startedAt };
      if (ended.hasSubscribers) ended.publish(ending);
    }
  };
}

const calledOff: ReadonlySet<ToolServerErrorCode> = new Set<ToolServerErrorCode>([
  "CREDENTIAL_CLOSED",
  "CONNECTION_CLOSED",
  "CALL_CANCELLED",
]);

function outcomeOf(error: unknown): CredentialOutcome {
  if (ToolServerError.is(error))
    return { outcome: calledOff.has(error.code) ? "cancelled" : "failed", code: error.code };
  return { outcome: error instanceof Error && error.name === "AbortError" ? "cancelled" : "failed" };
}
