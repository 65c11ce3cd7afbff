import { publish } from "../diagnostics/channels.js";
import type { ConnectionFacts } from "../diagnostics/facts.js";
import { ToolServerError } from "../errors.js";
import type { ClientSession } from "./client-session.js";
import type { RelayedCall } from "./connection.js";
import type { RelayRequest, SentRequest, WireObject } from "./relayed-calls.js";

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
  let sent: SentRequest | undefined;
  let isOver = false;
  let settle: (error: ToolServerError) => void = () => {};

  const attempt = async (mayRepeat: boolean): Promise<WireObject> => {
    const session = host.session() ?? (await host.ensure());
    if (isOver) throw calledOff(facts.name, request.method);
    const under = session.relay(request);
    sent = under;
    try {
      const result = await under.result;
      host.onAnswered();
      return result;
    } catch (cause) {
      const { error, isRepeated } = host.judge(session, cause, request.method);
      if (!mayRepeat || !isRepeated || isOver) throw error;
    }
    return attempt(false);
  };

  publish("connection:call-started", facts);
  const result = new Promise<WireObject>((resolve, reject) => {
    settle = (error) => {
      if (isOver) return;
      isOver = true;
      publish("connection:call-failed", facts);
      reject(error);
    };
    attempt(true).then((value) => {
      if (isOver) return;
      isOver = true;
      publish("connection:call-succeeded", facts);
      resolve(value);
    }, settle);
  });
  return {
    result,
    cancel(reason = calledOff(facts.name, request.method)) {
      if (isOver) return;
      sent?.callOff();
      settle(reason);
    },
  };
}

function calledOff(server: string, method: string): ToolServerError {
  return new ToolServerError("CALL_CANCELLED", `${method} of the server ${JSON.stringify(server)} was called off.`);
}
