import { type Clock, waitAtMost } from "../../clock.js";
import {
  type ErrorParts,
  ToolServerError,
  type ToolServerErrorCode,
  type ToolServerErrorDetails,
} from "../../errors.js";
import type { HttpResponse, ResponseHeaders } from "../../http/http-client.js";
import { isPage, titleOfPage } from "../../page-text.js";
import { printableText } from "../../printable-text.js";
import { originOf, parseUrl } from "../../url.js";
import type { RequestId, RpcErrorObject } from "../rpc/json-rpc.js";
import { parseMessages } from "../rpc/message.js";
import { eventStream, json, mediaTypeOf } from "./streamable-http-session.js";
import type { NetworkContext } from "./transport.js";

/** How much of an unexpected response is read, and for how long. */
const readBytes = 16 * 1024;
const readMs = 2000;
/** The maximum length of a quote from the server, in characters. */
const maxQuoted = 300;

/** A response that the protocol does not define. */
export interface UnexpectedResponse {
  readonly status: number;
  readonly mediaType: string;
  /** The start of the body. */
  readonly text: string;
  readonly headers: ResponseHeaders;
}

/** Reads the start of an unexpected response. Never rejects. */
export async function readUnexpected(response: HttpResponse, clock: Clock): Promise<UnexpectedResponse> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const read = response.read((chunk) => {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= readBytes) throw new RangeError("enough");
  });
  await waitAtMost(clock, readMs, read);
  return {
    status: response.status,
    mediaType: mediaTypeOf(response),
    text: Buffer.concat(chunks).subarray(0, readBytes).toString("utf8"),
    headers: response.headers,
  };
}

interface StatusMeaning {
  readonly code: ToolServerErrorCode;
  readonly advice: string;
  /** Whether the URL may be that of another kind of server, so that the advice of the transport is better. */
  readonly isAboutUrl?: boolean;
}

const overloaded: StatusMeaning = { code: "SERVER_FAILED", advice: "Try again later." };

/** The meanings of statuses: by status, else by the first digit. */
const meanings: Readonly<Record<string, StatusMeaning>> = {
  2: {
    code: "RESPONSE_INVALID",
    advice: `Check the URL. GET has to return ${eventStream}, or 405 if the server has no event stream.`,
    isAboutUrl: true,
  },
  3: {
    code: "REDIRECT_REFUSED",
    advice: "Headers are never sent to another origin. Put the URL of the server itself into the configuration.",
  },
  4: { code: "SERVER_FAILED", advice: "Check the request and the URL.", isAboutUrl: true },
  404: { code: "SERVER_FAILED", advice: "Check the path of the URL: many servers use /mcp.", isAboutUrl: true },
  405: {
    code: "SERVER_FAILED",
    advice: "Check the path of the URL; for a server with the older /sse endpoint, use the type sse.",
    isAboutUrl: true,
  },
  413: { code: "MESSAGE_TOO_LARGE", advice: "Send smaller messages." },
  429: overloaded,
  5: { code: "SERVER_FAILED", advice: "Check the log of the server." },
  503: overloaded,
};

/**
 * Converts a response that the protocol does not define, and that is not about the credential or the session. `request` is what it
 * responds to, before the path: `POST`. With `urlAdvice`, a status that may be about the URL is NOT_A_TOOL_SERVER.
 */
export function statusFailure(
  context: NetworkContext,
  response: UnexpectedResponse,
  request: string,
  urlAdvice?: string,
): ToolServerError {
  const { status } = response;
  const meaning = meanings[status] ?? meanings[String(status).charAt(0)] ?? overloaded;
  const problem = `${subjectOf(context)} returned ${status} to ${request} ${pathOf(context)}${whereOf(context, response)}.${saidIn(context, response)}`;
  const details = { status, rpcCode: rpcErrorIn(response.text)?.code };
  if (meaning.isAboutUrl === true && urlAdvice !== undefined) {
    return failure("NOT_A_TOOL_SERVER", { problem, advice: urlAdvice }, details);
  }
  const wait = meaning === overloaded ? response.headers["retry-after"] : undefined;
  const advice = wait === undefined ? meaning.advice : `Try again after ${waitOf(context, wait)}.`;
  return failure(meaning.code, { problem, advice }, details);
}

/** What is wrong with a success, or where a redirect leads: without path and query, which may contain secrets. */
function whereOf(context: NetworkContext, response: UnexpectedResponse): string {
  const { status, headers } = response;
  if (status < 300) return ` with a response ${typeOf(context, response)}`;
  if (status >= 400) return "";
  const target = headers.location === undefined ? undefined : parseUrl(headers.location, context.url);
  return `, which redirects it ${target === undefined ? "elsewhere" : `to ${quoteOf(context, originOf(target))}`}`;
}

function waitOf(context: NetworkContext, retryAfter: string): string {
  return /^\d{1,9}$/.test(retryAfter) ? `${Number(retryAfter)} s` : quoteOf(context, retryAfter);
}

/** Creates SESSION_LOST for a response of the server. */
export function sessionLost(context: NetworkContext, response: UnexpectedResponse): ToolServerError {
  const { status } = response;
  const problem = `${subjectOf(context)} no longer knows the session (HTTP ${status}).${saidIn(context, response)}`;
  const details = { status, wasSent: false };
  return new ToolServerError("SESSION_LOST", { problem, advice: "Connect again." }, { details });
}

/** Creates NOT_A_TOOL_SERVER for a successful response that the protocol does not define, and describes it. */
export function notAToolServer(context: NetworkContext, response: UnexpectedResponse): ToolServerError {
  const { status, mediaType, text } = response;
  const subject = subjectOf(context);
  const details = { status };
  if (status === 202 || status === 204) {
    const problem = `${subject} accepted the request with ${status}, which contains no result.`;
    const advice = "Check that the URL is a Streamable HTTP endpoint.";
    return failure("NOT_A_TOOL_SERVER", { problem, advice }, details);
  }
  if (isPage(text) || mediaType === "text/html") {
    const title = (isPage(text) && titleOfPage(text)) || "";
    const name = title === "" ? "" : `, titled ${JSON.stringify(quoteOf(context, title))}`;
    const problem = `${subject} responded with an HTML page${name}, not with ${json} or ${eventStream}. A sign-in page or a proxy may be in front of it.`;
    const advice = "Open the URL in a browser, and check its path.";
    return failure("NOT_A_TOOL_SERVER", { problem, advice }, details);
  }
  const problem = `${subject} responded with ${startOf(context, text, ` ${typeOf(context, response)}`)}. A tool server responds with ${json} or ${eventStream}.`;
  return failure("NOT_A_TOOL_SERVER", { problem, advice: "Check the URL." }, details);
}

/** Creates NOT_A_TOOL_SERVER for a body of the right type that contains no JSON-RPC message. */
export function notAMessage(context: NetworkContext, text: string): ToolServerError {
  const problem = `${subjectOf(context)} responded with ${startOf(context, text)}, which is not a JSON-RPC message.`;
  return failure("NOT_A_TOOL_SERVER", { problem, advice: "Check the URL and the server." }, {});
}

function typeOf(context: NetworkContext, { mediaType }: UnexpectedResponse): string {
  return mediaType === "" ? "without a content type" : `of type ${quoteOf(context, mediaType)}`;
}

function startOf(context: NetworkContext, text: string, what = ""): string {
  return text.trim() === ""
    ? `an empty body${what}`
    : `a body${what} that starts with "${quoteOf(context, text.trim())}"`;
}

/** Creates RESPONSE_INVALID for a response that the protocol does not allow. */
export function responseInvalid(context: NetworkContext, what: string): ToolServerError {
  return failure("RESPONSE_INVALID", { problem: `${subjectOf(context)} ${what}.`, advice: "Check the server." }, {});
}

/** Creates CONNECTION_LOST for a response that was never received. */
export function responseLost(context: NetworkContext, what: string, cause?: unknown): ToolServerError {
  const problem = `${subjectOf(context)} ${what}. It is unknown whether the request was carried out.`;
  return new ToolServerError("CONNECTION_LOST", { problem, advice: "" }, { cause, details: { wasSent: true } });
}

/** The server, as the subject of messages. */
export function subjectOf({ server, url, secrets }: NetworkContext): string {
  return `The server ${JSON.stringify(server)} (${printableText(secrets.redact(url.origin), 200)})`;
}

/** What a response says, as a sentence: the message of a JSON-RPC error, else the start of its text. */
function saidIn(context: NetworkContext, { mediaType, text }: UnexpectedResponse): string {
  const isText = mediaType === "" || mediaType.startsWith("text/") || mediaType.endsWith("json");
  const start = isPage(text) ? (titleOfPage(text) ?? "") : isText ? text.trim() : "";
  const said = quoteOf(context, rpcErrorIn(text)?.message ?? start);
  return said === "" ? "" : ` It says: "${said}".`;
}

/** The JSON-RPC error in a body, and the id of the request that it responds to. */
export function rpcErrorIn(text: string): (RpcErrorObject & { readonly id: RequestId | undefined }) | undefined {
  const [message] = parseMessages(text) ?? [];
  if (message === undefined || "method" in message || message.error === undefined) return undefined;
  return { ...message.error, id: message.id ?? undefined };
}

/** Quotes text of the server: redacted, on one line and truncated. */
function quoteOf({ secrets }: NetworkContext, text: string): string {
  // Truncated after redaction, so that no part of a secret remains.
  return printableText(secrets.redact(text).replace(/\s+/g, " "), maxQuoted);
}

function pathOf({ url, secrets }: NetworkContext): string {
  return printableText(secrets.redact(url.pathname), 200);
}

function failure(code: ToolServerErrorCode, what: ErrorParts, details: ToolServerErrorDetails): ToolServerError {
  return new ToolServerError(code, what, { details: { ...details, wasSent: true } });
}
