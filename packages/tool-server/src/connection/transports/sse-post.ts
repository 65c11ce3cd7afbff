import { publish } from "../../diagnostics.js";
import { ToolServerError } from "../../errors.js";
import type { HttpResponse } from "../../http/http-client.js";
import { sendWithinOrigin } from "../../http/redirects.js";
import { printableText } from "../../printable-text.js";
import { parseUrl } from "../../url.js";
import { askWithCredential } from "./refusal.js";
import type { NetworkContext } from "./transport.js";

interface SsePost {
  readonly endpoint: URL;
  /** The message, as JSON. */
  readonly body: string;
  /** Headers of the protocol. */
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** How long the server may take to say that it took it, in milliseconds. Default: for ever. */
  readonly headersTimeoutMs?: number | undefined;
}

/** How much is read of what a server says to a message that it does not take. */
const readBytes = 4096;

/**
 * Posts a message; resolves when the server took it. Rejects with SESSION_LOST where the server does not know the session,
 * with SERVER_FAILED for another failure, with a refusal, and as the client of HTTP does.
 */
export async function postMessage(context: NetworkContext, post: SsePost): Promise<void> {
  const { endpoint, body, signal, headersTimeoutMs } = post;
  const response = await askWithCredential(
    context,
    (headers) =>
      sendWithinOrigin(
        context.http,
        {
          method: "POST",
          url: endpoint,
          headers: { ...headers, ...post.headers, "content-type": "application/json" },
          body,
          signal,
          headersTimeoutMs,
          usesReserve: headersTimeoutMs !== undefined,
          onWritten: (socketInfo) => publish("socket:message-sent", socketInfo),
        },
        (text) => context.secrets.redact(text),
      ),
    { method: "POST", url: endpoint, signal },
  );
  if (response.status >= 200 && response.status < 300) {
    response.discard();
    return;
  }
  throw await postFailure(context, response);
}

async function postFailure({ server, secrets }: NetworkContext, response: HttpResponse): Promise<ToolServerError> {
  const { status } = response;
  const text = await response.text(readBytes).catch(() => "");
  const subject = `The server ${JSON.stringify(server)}`;
  // The examples of the SDK response 400 to a session that they do not know.
  if (status === 404 || status === 410 || (status === 400 && /no transport found|\bsession/i.test(text))) {
    const problem = `${subject} does not know the session any more (HTTP ${status}).`;
    return new ToolServerError(
      "SESSION_LOST",
      { problem, advice: "Connect again." },
      { details: { status, wasSent: false } },
    );
  }
  const words = printableText(secrets.redact(text).trim(), 200);
  const said = words === "" ? "" : `, saying: "${words}"`;
  const problem = `${subject} did not accept the message: it responded with ${status}${said}.`;
  const parts = { problem, advice: "Look into the log of the server." };
  return new ToolServerError(status === 413 ? "MESSAGE_TOO_LARGE" : "SERVER_FAILED", parts, { details: { status } });
}

/**
 * Where messages are posted to, as the `endpoint` event says. Throws REDIRECT_REFUSED where that is another origin, to which
 * the headers of the credential would go; NOT_A_TOOL_SERVER where it is no url.
 */
export function parseEndpoint({ server, url, secrets }: NetworkContext, text: string): URL {
  const subject = `The server ${JSON.stringify(server)} (${url.origin})`;
  const endpoint = parseUrl(text, url);
  if (endpoint === undefined) {
    const problem = `${subject} wants messages to be posted to what is not a url.`;
    throw new ToolServerError("NOT_A_TOOL_SERVER", { problem, advice: "Look into the server." });
  }
  if (endpoint.origin !== url.origin || endpoint.username !== "" || endpoint.password !== "") {
    const origin = endpoint.origin === "null" ? endpoint.protocol : endpoint.origin;
    const where = origin === url.origin ? "a url with a user in it" : printableText(secrets.redact(origin), 200);
    const problem = `${subject} wants messages to be posted to ${where}, where its headers must not go.`;
    const advice =
      "Write the url of the server itself into the configuration, or correct the address that the server gives.";
    throw new ToolServerError("REDIRECT_REFUSED", { problem, advice });
  }
  return endpoint;
}
