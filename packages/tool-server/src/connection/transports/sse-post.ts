import type { CallPhases } from "../../call-phases.js";
import { ToolServerError } from "../../errors.js";
import type { HttpResponse } from "../../http/http-client.js";
import { sendWithinOrigin } from "../../http/redirects.js";
import { printableText } from "../../printable-text.js";
import { originOf, parseUrl } from "../../url.js";
import type { Post } from "./posts.js";
import { sendWithCredential } from "./refusal.js";
import { readUnexpected, sessionLost, statusFailure, subjectOf } from "./response-failures.js";
import type { NetworkContext } from "./transport.js";

interface SsePost {
  readonly post: Post;
  readonly endpoint: URL;
  /** The message, as JSON. */
  readonly body: string;
  /** The protocol's headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** Receives the phases of the call. Default: nothing does. */
  readonly phases?: CallPhases | undefined;
}

/**
 * The plain-text body with which servers made from the SDK's example reject an unknown session with 400. This transport has no
 * code for it.
 */
const unknownSession = "No transport found for sessionId";

/**
 * Posts a message; resolves when the server accepted it. Rejects with SESSION_LOST if the server does not know the session, with
 * SERVER_FAILED for another failure, with UNAUTHORIZED or FORBIDDEN, and as the HTTP client does.
 */
export async function postMessage(context: NetworkContext, message: SsePost): Promise<void> {
  const { post, endpoint, body, phases } = message;
  const response = await sendWithCredential(
    context,
    (headers) =>
      sendWithinOrigin(context, {
        method: "POST",
        url: endpoint,
        headers: { ...headers, ...message.headers, "content-type": "application/json" },
        body,
        signal: post,
        // No other time limit applies to a message without a response.
        headersTimeoutMs: post.id === undefined ? context.limits.connectMs : undefined,
        // A call may wait for our response to a request from the server, and a cancellation must not wait for its call.
        usesReserve: post.id === undefined,
        phases,
        observer: post,
      }),
    { method: "POST", url: endpoint, signal: post.signal, phases },
  );
  if (response.status >= 200 && response.status < 300) {
    response.discard();
    return;
  }
  throw await postFailure({ ...context, url: endpoint }, response);
}

async function postFailure(context: NetworkContext, response: HttpResponse): Promise<ToolServerError> {
  const unexpected = await readUnexpected(response, context.clock);
  const { status, text } = unexpected;
  const isLost = status === 404 || status === 410 || (status === 400 && text.startsWith(unknownSession));
  return isLost ? sessionLost(context, unexpected) : statusFailure(context, unexpected, "POST");
}

/**
 * Parses the `endpoint` event, which says where to post messages. Throws REDIRECT_REFUSED for another origin, which would get the
 * credential's headers, and NOT_A_TOOL_SERVER for an invalid URL.
 */
export function parseMessageEndpoint(context: NetworkContext, text: string): URL {
  const { url, secrets } = context;
  const subject = subjectOf(context);
  const endpoint = parseUrl(text, url);
  if (endpoint === undefined) {
    const problem = `${subject} sent an endpoint for messages that is not a URL.`;
    throw new ToolServerError("NOT_A_TOOL_SERVER", { problem, advice: "Check the server." });
  }
  if (endpoint.origin !== url.origin || endpoint.username !== "" || endpoint.password !== "") {
    const origin = originOf(endpoint);
    const where = origin === url.origin ? "a URL that contains a user" : printableText(secrets.redact(origin), 200);
    const problem = `${subject} sent an endpoint for messages at ${where}, which must not get its headers.`;
    const advice =
      "Put the URL of the server itself into the configuration, or correct the endpoint that the server sends.";
    throw new ToolServerError("REDIRECT_REFUSED", { problem, advice });
  }
  return endpoint;
}
