import { SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import { isRefusal } from "../../auth/credentials/credential.js";
import type { HeaderFields } from "../../auth/credentials/header-fields.js";
import { createBackOff } from "../../back-off.js";
import { waitAtMost } from "../../clock.js";
import { publisherOf } from "../../diagnostics.js";
import type { ToolServerError } from "../../errors.js";
import type { HttpRequest, HttpResponse } from "../../http/http-client.js";
import { followWithinOrigin, isRedirect, sendWithinOrigin } from "../../http/redirects.js";
import type { Mutable } from "../../mutable.js";
import { cancelledIdOf, type RequestId, type RpcMessage, requestIdOf } from "../rpc/json-rpc.js";
import { parseMessages } from "../rpc/message.js";
import { createPosts, maxConcurrentReplies, type Post } from "./posts.js";
import { awaitHeaders, retryRefused } from "./refusal.js";
import { createReplyQueue } from "./reply-queue.js";
import { notAToolServer, readUnexpected, statusFailure } from "./response-failures.js";
import { listenToServer } from "./streamable-http-listener.js";
import { lossOf } from "./streamable-http-lost-session.js";
import { type OpenRequest, readEventResponse, readJsonResponse } from "./streamable-http-response.js";
import { resumeEvents, streamBackOff } from "./streamable-http-resumption.js";
import {
  eventStream,
  type HttpSession,
  isModernRequest,
  json,
  mediaTypeOf,
  messageHeaders,
  sessionHeaders,
} from "./streamable-http-session.js";
import type { NetworkContext, ToolSendOptions, ToolTransport } from "./transport.js";
import { createTransportLife, deliver } from "./transport-life.js";

const messageReceived = publisherOf("socket:message-received");

/** The time limit for ending a session, in milliseconds. */
const endSessionMs = 1000;

/**
 * Creates a Streamable HTTP transport for both eras: each message is posted, and the response to a request is in the body of
 * its HTTP response. `send` of a request resolves at the end of that body, and rejects with UNAUTHORIZED, FORBIDDEN, SESSION_LOST,
 * REDIRECT_REFUSED, SERVER_FAILED, NOT_A_TOOL_SERVER, RESPONSE_INVALID, MESSAGE_TOO_LARGE, CONNECTION_LOST, and as the HTTP
 * client and the credential do.
 *
 * One exception, which the SDK requires: a rejected `server/discover`, from which it infers the era, is an SdkHttpError with the
 * ToolServerError as its cause.
 */
export function createStreamableHttpTransport(context: NetworkContext): ToolTransport {
  const { server, url, http, info, report, clock, secrets, limits, credential } = context;
  const life = createTransportLife(server);
  const posts = createPosts(server);
  const replies = createReplyQueue(context, (failure) => void end(failure), maxConcurrentReplies);
  let closing: Promise<void> | undefined;
  let listening: Post | undefined;

  const session: HttpSession = {
    context,
    id: undefined,
    isForgotten: false,
    protocolVersion: undefined,
    receive(message, socketInfo, relatedRequestId) {
      messageReceived(socketInfo);
      deliver(transport, message, relatedRequestId === undefined ? undefined : { relatedRequestId });
    },
    room: replies.room,
  };

  const httpRequestFor = (
    message: RpcMessage,
    id: RequestId | undefined,
    options: ToolSendOptions | undefined,
    post: Post,
    fields: HeaderFields,
  ): HttpRequest => ({
    method: "POST",
    url,
    headers: messageHeaders(session, fields, message, options?.headers),
    body: JSON.stringify(message),
    signal: post,
    phases: options?.phases,
    observer: post,
    // No other time limit applies to a message without a response.
    headersTimeoutMs: id === undefined ? limits.connectMs : undefined,
    // A call may wait for our response to a request from the server, and a cancellation must not wait for its call.
    usesReserve: id === undefined,
    isBackground: "method" in message && message.method === "subscriptions/listen",
  });

  /** Handles a first response that is a redirect or a rejection of the credential. */
  const followRedirectOrRetry = async (
    first: HttpResponse,
    request: HttpRequest,
    post: Post,
    sent: HeaderFields,
    again: (fields: HeaderFields) => HttpRequest,
  ): Promise<HttpResponse> => {
    const { phases } = request;
    const response = await followWithinOrigin(context, request, first);
    if (!isRefusal(response.status)) return response;
    const sendAgain = (fields: HeaderFields): Promise<HttpResponse> => sendWithinOrigin(context, again(fields));
    return retryRefused(context, sendAgain, { method: "POST", url, signal: post.signal, phases }, { sent, response });
  };

  /** Handles a response with a status other than 2xx. An error response of the protocol is delivered. */
  const handleUnexpected = async (message: RpcMessage, response: HttpResponse): Promise<void> => {
    const unexpected = await readUnexpected(response, clock);
    const loss = await lossOf(session, unexpected);
    if (loss !== undefined) {
      report(info, "warning", loss.message);
      throw loss;
    }
    const [received] = parseMessages(unexpected.text) ?? [];
    // A failed handshake of the older era, and a failure of the server, are described with the status.
    const isMessage = isModernRequest(message) || (response.status < 500 && !isHandshake(message));
    if (
      isMessage &&
      received !== undefined &&
      "error" in received &&
      received.id !== undefined &&
      received.id === requestIdOf(message)
    ) {
      session.receive(received, response.socketInfo);
      return;
    }
    const failure = statusFailure(context, unexpected, "POST");
    const { status } = response;
    const isProbe = "method" in message && message.method === "server/discover";
    if (!isProbe || status >= 500) throw failure;
    throw new SdkHttpError(
      SdkErrorCode.ClientHttpNotImplemented,
      failure.message,
      { status, text: unexpected.text },
      { cause: failure },
    );
  };

  const listen = (): void => {
    if (listening !== undefined) return;
    const post = posts.begin(undefined);
    listening = post;
    const drain = (failure: ToolServerError): void => {
      report(info, "warning", failure.message);
      void posts.idle((other) => other !== post).then(() => end(failure));
      transport.ondraining?.(failure);
    };
    const onFailure = (failure: ToolServerError): void => {
      report(info, "warning", `The event stream of the server failed: ${failure.message}`);
      transport.onerror?.(failure);
    };
    const onReopened = (): void => transport.onstreamreopened?.();
    const listener = { signal: post.signal, onReopened, onLost: drain, onFailure };
    void listenToServer(session, listener).then(() => posts.end(post));
  };

  /** Reads a response: synchronously if it was received completely, as nearly always; else when the returned promise resolves. */
  const readResponse = (
    message: RpcMessage,
    response: HttpResponse,
    request: OpenRequest | undefined,
  ): Promise<void> | undefined => {
    const { status } = response;
    if (status < 200 || status >= 300) return handleUnexpected(message, response);
    const method = "method" in message ? message.method : undefined;
    if (method === "initialize") startSession(response);
    if (request === undefined) {
      response.discard();
      if (method === "notifications/initialized") listen();
      return undefined;
    }
    const type = mediaTypeOf(response);
    if (type === eventStream) return readEventResponse(session, response, request);
    if (type !== json || status === 202) return rejectUnexpected(response);
    // An event stream starts at once, and its result follows when the server has it.
    request.phases?.begin("response", response.socketInfo);
    const text = response.textIfComplete(limits.messageBytes);
    if (text === undefined) {
      return response.text(limits.messageBytes).then((late) => readJsonResponse(session, response, request, late));
    }
    readJsonResponse(session, response, request, text);
    return undefined;
  };

  const rejectUnexpected = async (response: HttpResponse): Promise<never> => {
    throw notAToolServer(context, await readUnexpected(response, clock));
  };

  /** Resumes a response that an earlier session received in part. */
  const resume = async (request: OpenRequest, lastEventId: string): Promise<void> => {
    const { signal } = request.post;
    const backOff = createBackOff(streamBackOff, clock);
    const why = "did not continue an earlier response";
    const position = { lastEventId, retryMs: undefined };
    const broken = { position, backOff, isImmediate: true, signal, why };
    return readEventResponse(session, await resumeEvents(session, broken), request);
  };

  const startSession = ({ headers }: HttpResponse): void => {
    const id = headers["mcp-session-id"];
    session.id = id === "" ? undefined : id;
    transport.sessionId = session.id;
    if (session.id === undefined) return;
    secrets.add(session.id);
    report(info, "info", "The server started a session.");
  };

  const endSession = async (): Promise<void> => {
    // A server that is gone or has forgotten the session needs no DELETE.
    if (session.id === undefined || session.isForgotten || life.failure !== undefined) return;
    const limit = new AbortController();
    const stopTimer = clock.after(endSessionMs, () => limit.abort());
    try {
      const fields = await context.credential.headers({ method: "DELETE", url, signal: limit.signal });
      const headers = sessionHeaders(session, fields);
      const response = await http.send({ method: "DELETE", url, headers, signal: limit.signal, isSafe: true });
      response.discard();
    } catch {
      // The server expires the session eventually.
    } finally {
      stopTimer();
    }
  };

  const end = (failure?: ToolServerError): Promise<void> => {
    if (life.end(failure)) {
      transport.failure = failure;
      replies.end();
      closing = (async () => {
        // Lets pending notifications arrive, such as the cancellation of a call.
        const notices = posts.idle((post) => post.id === undefined && post !== listening);
        if (failure === undefined) await waitAtMost(clock, endSessionMs, notices);
        // Each call is rejected with its own reason before the SDK rejects all with the same.
        await posts.cancelAll(life.failure);
        await endSession();
        transport.onclose?.();
      })();
    }
    return closing ?? Promise.resolve();
  };

  // One function that awaits nothing but the response: every call would pay for each additional promise.
  const postMessage = async (message: RpcMessage, options: ToolSendOptions | undefined): Promise<void> => {
    life.assertOpen();
    const cancelled = cancelledIdOf(message);
    // At once: a server that hangs would not read the cancellation either.
    if (cancelled !== undefined) posts.cancel(cancelled);
    const id = requestIdOf(message);
    const post = posts.begin(id, options);
    try {
      const request = id === undefined ? undefined : openRequest(id, post, options);
      if (request !== undefined && options?.resumptionToken !== undefined) {
        return await resume(request, options.resumptionToken);
      }
      post.throwIfAborted();
      const sent =
        credential.headersNow?.() ??
        (await awaitHeaders(context, { method: "POST", url, signal: post.signal, phases: options?.phases }));
      const httpRequest = httpRequestFor(message, id, options, post, sent);
      let response = await http.send(httpRequest);
      if (isRedirect(response.status) || isRefusal(response.status)) {
        response = await followRedirectOrRetry(response, httpRequest, post, sent, (fields) =>
          httpRequestFor(message, id, options, post, fields),
        );
      }
      const rest = readResponse(message, response, request);
      if (rest !== undefined) await rest;
    } catch (error) {
      throw post.failureOf(error);
    } finally {
      posts.end(post);
      const onRequestStreamEnd = options?.onRequestStreamEnd;
      // After the caller of this request was settled with a more specific reason.
      if (onRequestStreamEnd !== undefined && !options?.requestSignal?.aborted) setImmediate(onRequestStreamEnd);
    }
  };

  const transport: Mutable<ToolTransport> = {
    kind: "http",
    hasPerRequestStream: true,
    failure: undefined,
    sessionId: undefined,
    async start() {
      life.begin();
    },
    send(message, options) {
      if ("method" in message) return postMessage(message, options);
      return replies.send(JSON.stringify(message).length, () => postMessage(message, options));
    },
    endStream: posts.cancel,
    close: () => end(),
    setProtocolVersion(version) {
      session.protocolVersion = version;
    },
  };
  return transport;
}

function isHandshake(message: RpcMessage): boolean {
  return "method" in message && message.method === "initialize";
}

function openRequest(id: RequestId, post: Post, options: ToolSendOptions | undefined): OpenRequest {
  return {
    id,
    post,
    phases: options?.phases,
    isReplayed: options?.resumptionToken !== undefined,
    onEventId: options?.onresumptiontoken,
  };
}
