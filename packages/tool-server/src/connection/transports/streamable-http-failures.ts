import { type Clock, waitAtMost } from "../../clock.js";
import {
  type ErrorParts,
  ToolServerError,
  type ToolServerErrorCode,
  type ToolServerErrorDetails,
} from "../../errors.js";
import type { HttpResponse } from "../../http/http-client.js";
import { isPage, titleOfPage } from "../../page-text.js";
import { printableText } from "../../printable-text.js";
import type { RequestId, RpcErrorObject } from "../rpc/json-rpc.js";
import { parseMessages } from "../rpc/message.js";
import { eventStream, json, mediaTypeOf } from "./streamable-http-session.js";
import type { NetworkContext } from "./transport.js";
import { sessionLost } from "./transport-life.js";

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
  readonly retryAfter: string | undefined;
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
    retryAfter: response.headers["retry-after"],
  };
}

/**
 * Converts a response that the method does not allow, and that is not about the credential or the session: RESPONSE_INVALID for a
 * success that is no event stream, or SERVER_FAILED.
 */
export function statusFailure(
  context: NetworkContext,
  response: UnexpectedResponse,
  method: "GET" | "POST",
): ToolServerError {
  const { status } = response;
  const words = saidIn(context, response);
  const returned = `${subjectOf(context)} returned ${status} to ${method} ${pathOf(context)}`;
  if (status >= 200 && status < 300) {
    const problem = `${returned} with a response ${typeOf(context, response)}, not with ${eventStream}.${words}`;
    const advice = "Check the URL. A server that has no event stream for GET has to return 405.";
    return failure("RESPONSE_INVALID", { problem, advice }, { status });
  }
  const problem = `${returned}.${words}`;
  const parts = { problem, advice: adviceFor(response) };
  return failure(status === 413 ? "MESSAGE_TOO_LARGE" : "SERVER_FAILED", parts, { status, ...rpcErrorOf(response) });
}

/** Creates SESSION_LOST for a response of the server. */
export function sessionLostBy(context: NetworkContext, response: UnexpectedResponse): ToolServerError {
  return sessionLost(subjectOf(context), response.status, saidIn(context, response));
}

function adviceFor({ status, retryAfter }: UnexpectedResponse): string {
  if (status === 404) return "Check the path of the URL: many servers use /mcp.";
  if (status === 405) return "Check the path of the URL; for a server with the older /sse endpoint, use the type sse.";
  if (status === 429 || status === 503) {
    return retryAfter === undefined ? "Try again later." : `Try again after ${waitOf(retryAfter)}.`;
  }
  return status >= 500 ? "Check the log of the server." : "Check the request and the URL.";
}

function waitOf(retryAfter: string): string {
  return /^\d{1,9}$/.test(retryAfter) ? `${Number(retryAfter)} s` : printableText(retryAfter, 50);
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
function saidIn(context: NetworkContext, response: UnexpectedResponse): string {
  const said = excerptOf(context, response);
  return said === "" ? "" : ` It says: "${said}".`;
}

function excerptOf(context: NetworkContext, response: UnexpectedResponse): string {
  const { mediaType, text } = response;
  const error = rpcErrorIn(text);
  if (error !== undefined) return quoteOf(context, error.message);
  if (isPage(text)) return quoteOf(context, titleOfPage(text) ?? "");
  const isText = mediaType === "" || mediaType.startsWith("text/") || mediaType.endsWith("json");
  return isText ? quoteOf(context, text.trim()) : "";
}

function rpcErrorOf({ text }: UnexpectedResponse): ToolServerErrorDetails {
  const error = rpcErrorIn(text);
  return error === undefined ? {} : { rpcCode: error.code };
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
