import { ToolServerError } from "../../errors.js";
import type { ResponseHeaders } from "../../http/http-client.js";
import { printableText } from "../../printable-text.js";
import { originOf, parseUrl } from "../../url.js";
import { subjectOf } from "./streamable-http-failures.js";
import type { NetworkContext } from "./transport.js";

/** An HTTP response that reports a failure. */
export interface FailedResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** The request, as an object in a sentence: `the upgrade to WebSocket`. */
  readonly request: string;
  /** The advice for a status that means that the endpoint does not exist. */
  readonly advice: string;
}

/**
 * Converts a status that is neither a success nor about the credential: REDIRECT_REFUSED, SERVER_FAILED for an overloaded or
 * failing server, and NOT_A_TOOL_SERVER for the rest.
 */
export function responseFailure(context: NetworkContext, response: FailedResponse): ToolServerError {
  const { url, secrets } = context;
  const { status, headers, request, advice } = response;
  const details = { status };
  const subject = subjectOf(context);
  if (status >= 300 && status < 400) {
    // Without path and query, which may contain secrets.
    const target = headers.location === undefined ? undefined : parseUrl(headers.location, url);
    const where = target === undefined ? "elsewhere" : `to ${printableText(secrets.redact(originOf(target)), 200)}`;
    const problem = `${subject} responded to ${request} with ${status}, which redirects it ${where}. Headers are never sent to another origin.`;
    const advice = "Put the URL of the server itself into the configuration.";
    return new ToolServerError("REDIRECT_REFUSED", { problem, advice }, { details });
  }
  const problem = `${subject} responded to ${request} with ${status}.`;
  if (status === 429 || status >= 500) {
    const wait = headers["retry-after"];
    const when = wait === undefined ? "" : ` (Retry-After: ${printableText(secrets.redact(wait), 50)})`;
    const advice = `Try again later${when}, or check the log of the server.`;
    return new ToolServerError("SERVER_FAILED", { problem, advice }, { details });
  }
  return new ToolServerError("NOT_A_TOOL_SERVER", { problem, advice }, { details });
}
