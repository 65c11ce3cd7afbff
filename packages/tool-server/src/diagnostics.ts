import { type Channel, channel } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import type { CallPhase } from "./call-phases.js";
import type { ConnectionInfo, ConnectivityState, SocketInfo, TransportInfo } from "./connection-info.js";
import { ToolServerError, type ToolServerErrorCode } from "./errors.js";
import { redactStart, type SecretRegistry } from "./secrets/redactor.js";

/** A connection or a transport changed its state. */
export interface StateChange<Subject> {
  readonly subject: Subject;
  readonly state: ConnectivityState;
  /** The reason, for people; redacted. */
  readonly reason: string | undefined;
  /** The failure that caused the change, if there is one; redacted. */
  readonly failure?: ToolServerError | undefined;
}

/** Something has ended. */
export interface Ending<Subject> {
  readonly subject: Subject;
  /** The reason, for people; redacted. */
  readonly reason: string;
}

/** An event for the trace of a connection or a transport: a sign-in, a rejection, the run of a helper, the exit of a child process. */
export interface TraceEvent {
  readonly subject: ConnectionInfo | TransportInfo;
  readonly severity: "info" | "warning" | "error";
  /** For people; redacted. */
  readonly text: string;
}

/** An operation of a credential that takes time. Discovery and registration are parts of a sign-in or a refresh. */
export type CredentialOperationKind = "refresh" | "sign-in" | "step-up" | "discovery" | "registration" | "helper";

/**
 * Why an operation runs: there was no token yet, it expired or was about to, the server rejected it; a user requested it, the
 * tokens are no longer valid, or a scope is missing.
 */
export type CredentialOperationCause = "first" | "renewal" | "refusal" | "asked" | "dead" | "step-up";

/** One operation of a connection's credential: the same object from its start to its end. Contains no secret. */
export interface CredentialOperation {
  readonly subject: ConnectionInfo;
  readonly kind: CredentialOperationKind;
  /** Undefined for a part of another operation. */
  readonly cause: CredentialOperationCause | undefined;
}

/** The outcome of an operation: it succeeded, another process had already done it, it failed, or it was cancelled. */
export interface CredentialOutcome {
  readonly outcome: "done" | "adopted" | "failed" | "cancelled";
  /** The error code of a failure, if it has one. */
  readonly code?: ToolServerErrorCode | undefined;
}

/** An operation has ended. */
export interface CredentialEnding extends CredentialOutcome {
  readonly operation: CredentialOperation;
  readonly durationMs: number;
}

/** A step of connecting starts or succeeds. A failed step gets no second event; its attempt to connect has ended. */
export interface ConnectingStep {
  readonly transport: TransportInfo;
  readonly phase: CallPhase;
  readonly isOver: boolean;
}

/** The payload of each channel. */
export interface ToolServerMessages {
  "connection:opened": ConnectionInfo;
  "connection:state": StateChange<ConnectionInfo>;
  "connection:closed": Ending<ConnectionInfo>;
  /** A JSON-RPC request was started, got a result, or failed. */
  "connection:call-started": ConnectionInfo;
  "connection:call-succeeded": ConnectionInfo;
  "connection:call-failed": ConnectionInfo;
  "transport:opened": TransportInfo;
  "transport:state": StateChange<TransportInfo>;
  "transport:closed": Ending<TransportInfo>;
  "transport:call-started": TransportInfo;
  "transport:call-succeeded": TransportInfo;
  "transport:call-failed": TransportInfo;
  /** A socket that is opened for no single call, such as that of a handshake. */
  "transport:connecting": ConnectingStep;
  "socket:opened": SocketInfo;
  "socket:closed": Ending<SocketInfo>;
  /**
   * A stream starts with a request: an HTTP request, or a JSON-RPC request if all share one socket. It succeeds when its end is
   * received: the complete HTTP response with any status, or the JSON-RPC response.
   */
  "socket:stream-started": SocketInfo;
  "socket:stream-succeeded": SocketInfo;
  "socket:stream-failed": SocketInfo;
  /** A JSON-RPC message. */
  "socket:message-sent": SocketInfo;
  "socket:message-received": SocketInfo;
  /** A ping at the level of the socket, not of the protocol. */
  "socket:keep-alive-sent": SocketInfo;
  /** A proxy is about to be asked for a tunnel over this socket, which has a `SocketInfo` only once the tunnel is established. */
  "proxy:tunnel-requested": Socket;
  /** An operation of a credential starts. Stores that are bound to this channel are active during the operation. */
  "credential:started": CredentialOperation;
  "credential:ended": CredentialEnding;
  trace: TraceEvent;
}

/** The name of a diagnostics channel, without its prefix. */
export type ToolServerChannelName = keyof ToolServerMessages;

/** The prefix of all channel names. */
export const channelPrefix = "wirescope:tool-server:";

const names = {
  "connection:opened": true,
  "connection:state": true,
  "connection:closed": true,
  "connection:call-started": true,
  "connection:call-succeeded": true,
  "connection:call-failed": true,
  "transport:opened": true,
  "transport:state": true,
  "transport:closed": true,
  "transport:call-started": true,
  "transport:call-succeeded": true,
  "transport:call-failed": true,
  "transport:connecting": true,
  "socket:opened": true,
  "socket:closed": true,
  "socket:stream-started": true,
  "socket:stream-succeeded": true,
  "socket:stream-failed": true,
  "socket:message-sent": true,
  "socket:message-received": true,
  "socket:keep-alive-sent": true,
  "proxy:tunnel-requested": true,
  "credential:started": true,
  "credential:ended": true,
  trace: true,
} as const satisfies Record<ToolServerChannelName, true>;

/**
 * The channels of `node:diagnostics_channel` for observers of tool servers, by name without the prefix. A payload is the info
 * object itself if that is sufficient, so that counting allocates nothing.
 */
export const channels = Object.fromEntries(
  Object.keys(names).map((name) => [name, channel(`${channelPrefix}${name}`)]),
) as Readonly<Record<ToolServerChannelName, Channel>>;

/** Publishes a message if the channel has subscribers. */
export function publish<Name extends ToolServerChannelName>(name: Name, message: ToolServerMessages[Name]): void {
  const found = channels[name];
  if (found.hasSubscribers) found.publish(message);
}

/**
 * Returns a function that publishes on one channel if it has subscribers, for events of every call: looking up the
 * channel by name each time took longer than publishing.
 */
export function publisherOf<Name extends ToolServerChannelName>(
  name: Name,
): (message: ToolServerMessages[Name]) => void {
  const found = channels[name];
  return (message) => {
    if (found.hasSubscribers) found.publish(message);
  };
}

/** Publishes a trace event, redacted. */
export type Reporter = (subject: TraceEvent["subject"], severity: TraceEvent["severity"], text: string) => void;

/** The maximum length of a trace event, in characters: its text may be that of a server. */
const maxTraceLength = 4096;

/** Creates a `Reporter` that redacts the secrets of this registry. */
export function createReporter({ redact }: Pick<SecretRegistry, "redact">): Reporter {
  return (subject, severity, text) => {
    if (!channels.trace.hasSubscribers) return;
    channels.trace.publish({ subject, severity, text: redactStart(text, maxTraceLength, redact) });
  };
}

/**
 * Runs an operation of a credential and publishes its start and end. A task that resolves is done, and one that rejects has
 * failed or was cancelled; `setOutcome` reports another outcome.
 */
export type TrackOperation = <T>(
  kind: CredentialOperationKind,
  cause: CredentialOperationCause | undefined,
  task: (setOutcome: SetOutcome) => Promise<T>,
) => Promise<T>;

/** Sets how an operation ended. */
export type SetOutcome = (outcome: CredentialOutcome) => void;

/** Runs the operation and publishes nothing. */
export const untracked: TrackOperation = (_, __, task) => task(() => {});

/** Creates a `TrackOperation` for the credential of a connection. Without subscribers it costs one check. */
export function createOperationTracker(subject: ConnectionInfo): TrackOperation {
  const { "credential:started": started, "credential:ended": ended } = channels;
  return async (kind, cause, task) => {
    if (!started.hasSubscribers && !ended.hasSubscribers) return untracked(kind, cause, task);
    const operation: CredentialOperation = { subject, kind, cause };
    const startedAt = performance.now();
    let outcome: CredentialOutcome = { outcome: "done" };
    try {
      // Runs within the stores that are bound to the channel, so that nested operations are seen as parts of this one.
      return await started.runStores(operation, () =>
        task((reported) => {
          outcome = reported;
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

const cancellationCodes: ReadonlySet<ToolServerErrorCode> = new Set<ToolServerErrorCode>([
  "CREDENTIAL_CLOSED",
  "CONNECTION_CLOSED",
  "CALL_CANCELLED",
]);

/** The outcome of an operation that rejected with this error. */
export function outcomeOf(error: unknown): CredentialOutcome {
  if (ToolServerError.is(error)) {
    return { outcome: cancellationCodes.has(error.code) ? "cancelled" : "failed", code: error.code };
  }
  return { outcome: error instanceof Error && error.name === "AbortError" ? "cancelled" : "failed" };
}
