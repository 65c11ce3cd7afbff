import {
  type CallPhase,
  type ConnectingStep,
  type ConnectionInfo,
  type CredentialEnding,
  type CredentialOperation,
  type CredentialOperationKind,
  channels,
} from "@wirescope/tool-server";

/** A call that waits for shared work of a connection. */
interface WaitingCall {
  begin(name: CallPhase | CredentialOperationKind): void;
  end(name: CallPhase | CredentialOperationKind): void;
  fail(name: CallPhase | CredentialOperationKind, reason: string | undefined): void;
}

/**
 * Work of connections that is shared by several calls, such as a refresh or a handshake. A call that waits for it records it as part of
 * the phase in which it waits.
 */
export interface SharedWork {
  /** A call starts to wait for this connection. */
  enter(connection: ConnectionInfo, call: WaitingCall): void;
  leave(connection: ConnectionInfo, call: WaitingCall): void;
  /** Reports an exception of the log itself. */
  onDefect(error: unknown): void;
  close(): void;
}

export function createSharedWork(onDefect: (error: unknown) => void): SharedWork {
  const waiting = new Map<ConnectionInfo, Set<WaitingCall>>();
  /** Credential operations in progress: a call may join one that has already started. */
  const running = new Set<CredentialOperation>();

  const callsOf = (connection: ConnectionInfo): Iterable<WaitingCall> => waiting.get(connection) ?? none;
  const onStarted = (message: unknown): void => {
    const operation = message as CredentialOperation;
    running.add(operation);
    for (const call of callsOf(operation.subject)) call.begin(operation.kind);
  };
  const onEnded = (message: unknown): void => {
    const { operation, outcome, code } = message as CredentialEnding;
    running.delete(operation);
    for (const call of callsOf(operation.subject)) {
      if (outcome === "failed" || outcome === "cancelled") call.fail(operation.kind, code);
      else call.end(operation.kind);
    }
  };
  const onStep = (message: unknown): void => {
    const { transport, phase, isOver } = message as ConnectingStep;
    for (const call of callsOf(transport.connection)) {
      if (isOver) call.end(phase);
      else call.begin(phase);
    }
  };
  const listeners = (
    [
      [channels["credential:started"], onStarted],
      [channels["credential:ended"], onEnded],
      [channels["transport:connecting"], onStep],
    ] as const
  ).map(([channel, listener]) => [channel, guarded(listener, onDefect)] as const);
  for (const [channel, listener] of listeners) channel.subscribe(listener);

  return {
    enter(connection, call) {
      const calls = waiting.get(connection);
      if (calls === undefined) waiting.set(connection, new Set([call]));
      else calls.add(call);
      for (const { subject, kind } of running) if (subject === connection) call.begin(kind);
    },
    onDefect,
    leave(connection, call) {
      const calls = waiting.get(connection);
      if (calls?.delete(call) && calls.size === 0) waiting.delete(connection);
    },
    close() {
      for (const [channel, listener] of listeners) channel.unsubscribe(listener);
      waiting.clear();
      running.clear();
    },
  };
}

const none: ReadonlySet<WaitingCall> = new Set();

/** A listener of a diagnostics channel. Node ends the process if one throws. */
function guarded(listener: (message: unknown) => void, onDefect: (error: unknown) => void): (message: unknown) => void {
  return (message) => {
    try {
      listener(message);
    } catch (error) {
      onDefect(error);
    }
  };
}
