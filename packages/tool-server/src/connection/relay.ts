import { publish } from "../diagnostics/channels.js";
import type { ConnectionFacts } from "../diagnostics/facts.js";
import { ToolServerError } from "../errors.js";
import type { ClientSession } from "./client-session.js";
import type { RelayedCall } from "./connection.js";
import type { RelayRequest, WireObject } from "./relayed-calls.js";

/** What a connection does for requests that are passed on. */
export interface RelayHost {
  readonly facts: ConnectionFacts;
  /** The live session; undefined where there is none yet. */
  readonly session: () => ClientSession | undefined;
  /** The session to come. */
  readonly ensure: () => Promise<ClientSession>;
  /** A request was answered with a result. */
  readonly onAnswered: () => void;
  /** A request failed over a session: in our words, and whether it is made once more. */
  readonly judge: (
    session: ClientSession,
    cause: unknown,
    method: string,
  ) => { error: ToolServerError; isRepeated: boolean };
}

/** Passes a request on, as a call that the connection counts, and makes once more where that is safe. */
export function relayCall(host: RelayHost, request: RelayRequest): RelayedCall {
  const { facts } = host;
  let callOff: (() => void) | undefined;
  let isOver = false;
  let fail: (error: unknown) => void = () => {};

  publish("connection:call-started", facts);
  const result = new Promise<WireObject>((resolve, reject) => {
    fail = (error) => {
      if (isOver) return;
      isOver = true;
      publish("connection:call-failed", facts);
      reject(error);
    };
    const send = (session: ClientSession, mayRepeat: boolean): void => {
      if (isOver) return;
      callOff = session.relay(request, {
        onResult(value) {
          host.onAnswered();
          if (isOver) return;
          isOver = true;
          publish("connection:call-succeeded", facts);
          resolve(value);
        },
        onFailure(cause) {
          const { error, isRepeated } = host.judge(session, cause, request.method);
          if (mayRepeat && isRepeated) begin(false);
          else fail(error);
        },
      });
    };
    const begin = (mayRepeat: boolean): void => {
      const session = host.session();
      if (session !== undefined) send(session, mayRepeat);
      else host.ensure().then((opened) => send(opened, mayRepeat), fail);
    };
    begin(true);
  });
  return {
    result,
    cancel(reason = calledOff(facts.name, request.method)) {
      if (isOver) return;
      callOff?.();
      fail(reason);
    },
  };
}

function calledOff(server: string, method: string): ToolServerError {
  return new ToolServerError("CALL_CANCELLED", `${method} of the server ${JSON.stringify(server)} was called off.`);
}
