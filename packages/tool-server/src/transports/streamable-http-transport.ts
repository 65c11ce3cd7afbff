import {
  type JSONRPCMessage,
  SdkErrorCode,
  SdkHttpError,
  type TransportSendOptions,
} from "@modelcontextprotocol/client";
import type { HeaderFields } from "../credentials/header-fields.js";
import { publish } from "../diagnostics/channels.js";
import type { WireFacts } from "../diagnostics/facts.js";
import type { ToolServerError } from "../errors.js";
import type { HttpAnswer } from "../http/http-client.js";
import { cancelledIdOf, parseMessages, requestIdOf } from "./json-rpc.js";
import { createDelivery } from "./message-delivery.js";
import { askWithCredential } from "./refusal.js";
import { type OpenRequest, readEventAnswer, readJsonAnswer } from "./streamable-http-answer.js";
import { notAToolServer, readForeign, statusFailure } from "./streamable-http-failures.js";
import { createFlights, type Flight } from "./streamable-http-flights.js";
import { listenToServer } from "./streamable-http-listener.js";
import { resumeEvents } from "./streamable-http-resumption.js";
import {
  eventStream,
  type HttpSession,
  isModernRequest,
  json,
  mediaTypeOf,
  messageHeaders,
  send,
  sessionHeaders,
} from "./streamable-http-session.js";
import type { NetworkContext, ToolTransport } from "./transport.js";
import { createTransportLife } from "./transport-life.js";

/** How long the end of a session may take, in milliseconds. */
const farewellMs = 1000;

/**
 * A transport over Streamable HTTP, of both eras: each message is posted, and each request is answered in the body of its
 * post. `send` of a request resolves at the end of that body, and rejects with UNAUTHORIZED, FORBIDDEN, SESSION_LOST,
 * REDIRECT_REFUSED, SERVER_FAILED, NOT_A_TOOL_SERVER, ANSWER_INVALID, MESSAGE_TOO_LARGE, CONNECTION_LOST, and as the client of
 * HTTP and the credential do.
 *
 * One thing is as the SDK wants it: a refusal of `server/discover`, which tells the era of a server, is an SdkHttpError
 * with the ToolServerError as its cause.
 */
export function createStreamableHttpTransport(context: NetworkContext): ToolTransport {
  const { server, url, http, facts, tell, clock, secrets, limits } = context;
  const life = createTransportLife(server);
  const flights = createFlights(server);
  let closing: Promise<void> | undefined;
  let isListening = false;

  const session: HttpSession = {
    context,
    id: undefined,
    isForgotten: false,
    protocolVersion: undefined,
    receive(message, wire, relatedRequestId) {
      if (wire !== undefined) publish("wire:message-received", wire);
      deliver(message, relatedRequestId === undefined ? undefined : { relatedRequestId });
    },
  };

  const post = (
    message: JSONRPCMessage,
    options: TransportSendOptions | undefined,
    flight: Flight,
  ): Promise<HttpAnswer> => {
    const body = JSON.stringify(message);
    const onWritten = (wire: WireFacts): void => {
      flight.wasWritten = true;
      publish("wire:message-sent", wire);
    };
    // Nobody else limits what waits for no answer.
    const headTimeoutMs = requestIdOf(message) === undefined ? limits.connectMs : undefined;
    const ask = (fields: HeaderFields): Promise<HttpAnswer> => {
      const headers = messageHeaders(session, fields, message, options?.headers);
      return send(context, { method: "POST", url, headers, body, signal: flight.signal, onWritten, headTimeoutMs });
    };
    return askWithCredential(context, ask, { method: "POST", url, signal: flight.signal });
  };

  /** What the answer to a message means that is not 2xx. Where it is an answer of the protocol after all, it is handed on. */
  const refuse = async (message: JSONRPCMessage, answer: HttpAnswer): Promise<void> => {
    const foreign = await readForeign(answer, clock);
    const [said] = isModernRequest(message) ? (parseMessages(foreign.text) ?? []) : [];
    if (said !== undefined && "error" in said && said.id !== undefined && said.id === requestIdOf(message)) {
      session.receive(said, answer.wire);
      return;
    }
    const failure = statusFailure(session, foreign, "POST");
    if (failure.code === "SESSION_LOST") tell(facts, "warning", failure.message);
    const { status } = answer;
    const isProbe = "method" in message && message.method === "server/discover";
    if (!isProbe || status >= 500) throw failure;
    throw new SdkHttpError(
      SdkErrorCode.ClientHttpNotImplemented,
      failure.message,
      { status, text: foreign.text },
      { cause: failure },
    );
  };

  const listen = (): void => {
    if (isListening) return;
    isListening = true;
    const flight = flights.begin(undefined, undefined);
    const lose = (failure: ToolServerError): void => {
      tell(facts, "warning", failure.message);
      // Calls in flight may still be answered.
      void flights.idle(flight).then(() => end(failure));
    };
    const onFailure = (failure: ToolServerError): void => {
      tell(facts, "warning", `Listening to the server failed: ${failure.message}`);
      transport.onerror?.(failure);
    };
    void listenToServer(session, { signal: flight.signal, onLost: lose, onFailure }).then(() => flight.end());
  };

  const exchange = async (
    message: JSONRPCMessage,
    options: TransportSendOptions | undefined,
    flight: Flight,
  ): Promise<void> => {
    const id = requestIdOf(message);
    const request: OpenRequest | undefined =
      id === undefined
        ? undefined
        : {
            id,
            signal: flight.signal,
            callOff: () => flight.callOff("The answer has come."),
            isReplayed: options?.resumptionToken !== undefined,
            onEventId: options?.onresumptiontoken,
          };
    if (request !== undefined && options?.resumptionToken !== undefined) {
      const broken = {
        lastEventId: options.resumptionToken,
        retryMs: 0,
        signal: flight.signal,
        why: "was to go on with an earlier answer",
      };
      return readEventAnswer(session, await resumeEvents(session, broken), request);
    }
    const answer = await post(message, options, flight);
    const { status } = answer;
    if (status < 200 || status >= 300) return refuse(message, answer);
    const method = "method" in message ? message.method : undefined;
    if (method === "initialize") begin(answer);
    if (request === undefined) {
      answer.discard();
      if (method === "notifications/initialized") listen();
      return;
    }
    const type = mediaTypeOf(answer);
    if (type === eventStream) return readEventAnswer(session, answer, request);
    if (type === json && status !== 202) return readJsonAnswer(session, answer, request);
    throw notAToolServer(context, await readForeign(answer, clock));
  };

  const begin = ({ headers }: HttpAnswer): void => {
    const id = headers["mcp-session-id"];
    session.id = id === "" ? undefined : id;
    if (session.id === undefined) return;
    secrets.add(session.id);
    tell(facts, "info", "The server began a session.");
  };

  const farewell = async (): Promise<void> => {
    // Whoever is gone, or does not know it any more, need not be told.
    if (session.id === undefined || session.isForgotten || life.failure !== undefined) return;
    const limit = new AbortController();
    const callOff = clock.after(farewellMs, () => limit.abort());
    try {
      const fields = await context.credential.headers({ method: "DELETE", url, signal: limit.signal });
      const headers = sessionHeaders(session, fields);
      const answer = await http.send({ method: "DELETE", url, headers, signal: limit.signal, isSafe: true });
      answer.discard();
    } catch {
      // The server forgets the session by itself in time.
    } finally {
      callOff();
    }
  };

  const end = (failure?: ToolServerError): Promise<void> => {
    if (life.end(failure)) {
      closing = (async () => {
        // Each hears of its own end before the SDK ends them all alike.
        await flights.callOffAll();
        await farewell();
        transport.onclose?.();
      })();
    }
    return closing ?? Promise.resolve();
  };

  const transport: ToolTransport = {
    kind: "http",
    hasPerRequestStream: true,
    get failure() {
      return life.failure;
    },
    get sessionId() {
      return session.id;
    },
    async start() {
      life.begin();
    },
    async send(message, options) {
      life.assertOpen();
      const cancelled = cancelledIdOf(message);
      // At once: a server that hangs does not take what it is told either.
      if (cancelled !== undefined) flights.callOff(cancelled);
      const flight = flights.begin(requestIdOf(message), options?.requestSignal);
      try {
        await exchange(message, options, flight);
      } catch (error) {
        throw flight.failureOf(error);
      } finally {
        flight.end();
        const { onRequestStreamEnd, requestSignal } = options ?? {};
        // After whoever waits for this has heard of it, for they know more.
        if (onRequestStreamEnd !== undefined && !requestSignal?.aborted) setImmediate(onRequestStreamEnd);
      }
    },
    close: () => end(),
    setProtocolVersion(version) {
      session.protocolVersion = version;
    },
  };
  const deliver = createDelivery(transport);
  return transport;
}
