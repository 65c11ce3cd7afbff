import { ToolServerError } from "../../errors.js";
import type { ResponseHeaders } from "../../http/http-client.js";
import { printableText } from "../../printable-text.js";
import { parseUrl } from "../../url.js";
import type { NetworkContext } from "./transport.js";

/** A response of HTTP that is a failure, and what was asked for. */
export interface FailedAnswer {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** What was asked for, as it stands in a sentence: `the upgrade to WebSocket`. */
  readonly asked: string;
  /** What to do where the status says that nothing of the kind is there. */
  readonly advice: string;
}

/**
 * What a status means that is neither a success nor about the credential: REDIRECT_REFUSED, SERVER_FAILED where the server
 * is in trouble or wants less, and NOT_A_TOOL_SERVER for the rest.
 */
export function answerFailure({ server, url, secrets }: NetworkContext, response: FailedAnswer): ToolServerError {
  const { status, headers, asked, advice } = response;
  const details = { status };
  const subject = `The server ${JSON.stringify(server)} (${printableText(secrets.redact(url.origin), 200)})`;
  if (status >= 300 && status < 400) {
    const target = originOf(headers.location, url);
    const where = target === undefined ? "elsewhere" : `to ${printableText(secrets.redact(target), 200)}`;
    const problem = `${subject} responded to ${asked} with ${status}, which sends it ${where}. Headers are never taken along.`;
    const advice = "Write the url of the server itself into the configuration.";
    return new ToolServerError("REDIRECT_REFUSED", { problem, advice }, { details });
  }
  if (status === 429 || status >= 500) {
    const wait = headers["retry-after"];
    const when = wait === undefined ? "Try again later" : `It asks to wait: ${printableText(secrets.redact(wait), 50)}`;
    const problem = `${subject} answered ${asked} with ${status}.`;
    const advice = `${when}, or look into the log of the server.`;
    return new ToolServerError("SERVER_FAILED", { problem, advice }, { details });
  }
  return new ToolServerError(
    "NOT_A_TOOL_SERVER",
    { problem: `${subject} answered ${asked} with ${status}.`, advice },
    {
      details,
    },
  );
}

/** Where a redirect leads, without path and query, which may hold what is nobody's business. */
function originOf(location: string | undefined, base: URL): string | undefined {
  const url = location === undefined ? undefined : parseUrl(location, base);
  return url?.origin === "null" ? url.protocol : url?.origin;
}
