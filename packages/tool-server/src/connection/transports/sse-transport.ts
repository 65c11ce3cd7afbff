import { waitAtMost } from "../../clock.js";
import { publish } from "../../diagnostics.js";
import { ToolServerError } from "../../errors.js";
import { createEventStreamParser, type StreamEvent } from "../../http/event-stream.js";
import type { HttpResponse } from "../../http/http-client.js";
import { sendWithinOrigin } from "../../http/redirects.js";
import { cancelledIdOf, type RpcMessage, requestIdOf } from "../rpc/json-rpc.js";
import { fixResponse } from "../rpc/message.js";
import { failOversized } from "./oversized-response.js";
import { createPosts, maxConcurrentReplies } from "./posts.js";
import { sendWithCredential } from "./refusal.js";
import { createReplyQueue } from "./reply-queue.js";
import { readUnexpected, statusFailure, subjectOf } from "./response-failures.js";
import { parseMessageEndpoint, postMessage } from "./sse-post.js";
import { createStrayOutput } from "./stray-output.js";
import { eventStream, mediaTypeOf } from "./streamable-http-session.js";
import type { NetworkContext, ToolSendOptions, ToolTransport } from "./transport.js";
import { connectionBroken, connectionOver, createTransportLife, deliver } from "./transport-life.js";

const advice = "Check that the URL is an SSE endpoint, such as /sse; for a Streamable HTTP server, use the type http.";

/** How long pending notifications may delay the close, in milliseconds. */
const closeDelayMs = 1000;

/**
 * Creates a transport for HTTP with SSE, the predecessor of Streamable HTTP: one event stream from the server, whose first event
 * names the endpoint for messages. `start` resolves with that event, and rejects as the HTTP client does, and with UNAUTHORIZED,
 * FORBIDDEN, REDIRECT_REFUSED, SERVER_FAILED or NOT_A_TOOL_SERVER. `send` resolves when the server accepted the message.
 *
 * It fails with CONNECTION_LOST when the stream ends, and with SESSION_LOST when the server no longer knows the session.
 */
export function createSseTransport(context: NetworkContext): ToolTransport {
  const { server, url, clock, limits } = context;
  const subject = subjectOf(context);
  const life = createTransportLife(server);
  const cancelled = new AbortController();
  const posts = createPosts(server);
  const strayOutput = createStrayOutput(context, "its event stream", "A tool server sends JSON-RPC there.");
  const replies = createReplyQueue(context, (failure) => end(failure), maxConcurrentReplies);
  let endpoint: URL | undefined;
  let protocolHeaders: Readonly<Record<string, string>> = {};
  let reading: Promise<void> | undefined;
  let closing: Promise<void> | undefined;

  const end = (failure?: ToolServerError): void => {
    if (!life.end(failure)) return;
    cancelled.abort(connectionOver(server, failure, true));
    replies.end();
    // Each call is rejected with its own reason before the connection rejects all with the same.
    closing = posts.cancelAll(failure).then(() => transport.onclose?.());
  };
  const onMessage = ({ data }: StreamEvent, { socketInfo }: HttpResponse): void => {
    const messages = strayOutput.messagesIn(data);
    if (messages === undefined) {
      const problem = `${subject} sends events that are not JSON-RPC messages.`;
      throw new ToolServerError("NOT_A_TOOL_SERVER", { problem, advice });
    }
    for (const message of messages) {
      publish("socket:message-received", socketInfo);
      deliver(transport, fixResponse(message));
    }
  };
  /** Reads the stream to its end, which ends the transport. Resolves with the event that names the endpoint. */
  const readEvents = (response: HttpResponse): Promise<void> =>
    new Promise((resolve) => {
      const stopTimer = clock.after(limits.connectMs, () => {
        const problem = `${subject} opened an event stream, but did not send the endpoint for messages within ${limits.connectMs} ms.`;
        end(new ToolServerError("NOT_A_TOOL_SERVER", { problem, evidence: strayOutput.describe(), advice }));
      });
      const settle = (): void => {
        stopTimer();
        resolve();
      };
      const parser = createEventStreamParser({
        subject,
        limitBytes: limits.messageBytes,
        onEvent(event) {
          if (life.isOver) return;
          if (event.type === "message" && event.data !== "") onMessage(event, response);
          if (event.type !== "endpoint" || endpoint !== undefined) return;
          endpoint = parseMessageEndpoint(context, event.data);
          settle();
        },
        onTooLarge(data) {
          if (failOversized(context, transport, data) === undefined) return false;
          publish("socket:message-received", response.socketInfo);
          return true;
        },
      });
      reading = response
        .read((chunk) => {
          parser.push(chunk);
          return replies.room();
        })
        .then(
          () => {
            const problem = `${subject} ended its event stream.`;
            end(new ToolServerError("CONNECTION_LOST", { problem, advice: "Connect again." }));
          },
          (error: unknown) => end(failureOf(error)),
        )
        .then(settle);
    });
  const failureOf = (error: unknown): ToolServerError =>
    ToolServerError.is(error) ? error : connectionBroken(context, error);
  const connect = async (): Promise<void> => {
    const sendRequest = (headers: Readonly<Record<string, string>>): Promise<HttpResponse> =>
      sendWithinOrigin(context, {
        method: "GET",
        url,
        headers: { ...headers, ...protocolHeaders, accept: eventStream, "cache-control": "no-store" },
        signal: cancelled.signal,
        headersTimeoutMs: limits.connectMs,
        isSafe: true,
        // Each call has a timer.
        isBackground: true,
      });
    const response = await sendWithCredential(context, sendRequest, { method: "GET", url, signal: cancelled.signal });
    if (response.status === 200 && mediaTypeOf(response) === eventStream) return readEvents(response);
    throw statusFailure(context, await readUnexpected(response, clock), "GET", advice);
  };
  const sendMessage = async (message: RpcMessage, options?: ToolSendOptions): Promise<void> => {
    life.assertOpen();
    if (endpoint === undefined) throw new TypeError("The transport has not started yet.");
    const cancelledId = cancelledIdOf(message);
    // A server that hangs never accepts the request.
    if (cancelledId !== undefined) posts.cancel(cancelledId);
    const post = posts.begin(requestIdOf(message), options);
    try {
      const body = JSON.stringify(message);
      await postMessage(context, { post, endpoint, body, headers: protocolHeaders, phases: options?.phases });
    } catch (error) {
      // A lost session does not come back, and responses would arrive on its stream. The caller gets this error first: its
      // call was not accepted, while others may have been.
      if (ToolServerError.is(error, "SESSION_LOST")) setImmediate(() => end(error));
      throw error;
    } finally {
      posts.end(post);
    }
  };

  const transport: ToolTransport = {
    kind: "sse",
    strayOutput: () => strayOutput.describe(),
    get failure() {
      return life.failure;
    },
    async start() {
      life.begin();
      try {
        await connect();
      } catch (error) {
        end(failureOf(error));
      }
      if (!life.isOver) return;
      await closing;
      throw life.failure ?? connectionOver(server, undefined, false);
    },
    send(message, options) {
      return "method" in message
        ? sendMessage(message, options)
        : replies.send(JSON.stringify(message).length, () => sendMessage(message));
    },
    async close() {
      // Lets pending notifications arrive, such as the cancellation of a call.
      const notices = posts.idle(({ id }) => id === undefined);
      if (!life.isOver) await waitAtMost(clock, closeDelayMs, notices);
      end();
      await reading;
      await closing;
    },
    setProtocolVersion(version) {
      protocolHeaders = { "mcp-protocol-version": version };
    },
  };
  return transport;
}
