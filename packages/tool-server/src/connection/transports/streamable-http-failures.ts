import type { Clock } from "../../clock.js";
import {
  type ErrorParts,
  ToolServerError,
  type ToolServerErrorCode,
  type ToolServerErrorDetails,
} from "../../errors.js";
import type { HttpResponse } from "../../http/http-client.js";
import { printableText } from "../../printable-text.js";
import type { RpcFault } from "../rpc/json-rpc.js";
import { parseMessages } from "../rpc/message.js";
import { eventStream, type HttpSession, json, mediaTypeOf } from "./streamable-http-session.js";
import type { NetworkContext } from "./transport.js";

/** How much of a response is read that is none, and for how long. */
const readBytes = 16 * 1024;
const readMs = 2000;
/** How much of it is told, in characters. */
const toldLength = 300;

/** What a response said that is none of the protocol. */
export interface ForeignAnswer {
  readonly status: number;
  readonly mediaType: string;
  /** The start of its body. */
  readonly text: string;
  readonly retryAfter: string | undefined;
}

/** Reads the start of a response that is none of the protocol. Never rejects. */
export async function readForeign(response: HttpResponse, clock: Clock): Promise<ForeignAnswer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  await new Promise<void>((resolve) => {
    const cancel = clock.after(readMs, resolve);
    const settle = (): void => {
      cancel();
      resolve();
    };
    response
      .read((chunk) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes >= readBytes) throw new RangeError("enough");
      })
      .then(settle, settle);
  });
  return {
    status: response.status,
    mediaType: mediaTypeOf(response),
    text: Buffer.concat(chunks).subarray(0, readBytes).toString("utf8"),
    retryAfter: response.headers["retry-after"],
  };
}

/** What a status means that is no success and not about the credential: SESSION_LOST, which the session notes, or SERVER_FAILED. */
export function statusFailure(session: HttpSession, response: ForeignAnswer, method: "GET" | "POST"): ToolServerError {
  const { context, id } = session;
  const { status } = response;
  if (id !== undefined && isForgotten(response)) {
    session.isForgotten = true;
    const problem = `${subjectOf(context)} does not know the session any more: it responded with ${status}.`;
    return new ToolServerError(
      "SESSION_LOST",
      { problem, advice: "Connect again." },
      { details: { status, wasSent: false } },
    );
  }
  const said = excerptOf(context, response);
  const words = said === "" ? "" : ` It says: "${said}".`;
  const problem = `${subjectOf(context)} answered ${status} to ${method} ${pathOf(context)}.${words}`;
  const parts = { problem, advice: adviceFor(response) };
  return failure(status === 413 ? "MESSAGE_TOO_LARGE" : "SERVER_FAILED", parts, { status, ...rpcErrorOf(response) });
}

/** Whether a response says that the server does not know the session. Where 404 is due, some servers response 400. */
function isForgotten({ status, text }: ForeignAnswer): boolean {
  if (status === 404 || status === 410) return true;
  return status === 400 && /\bsession\b|server not initialized/i.test(text);
}

function adviceFor({ status, retryAfter }: ForeignAnswer): string {
  if (status === 404) return "Check the path of the url: many servers have /mcp.";
  if (status === 405) return "Check the path of the url; a server of the older kind, with /sse, has the type sse.";
  if (status === 429 || status === 503) {
    return retryAfter === undefined ? "Try again later." : `Try again after ${waitOf(retryAfter)}.`;
  }
  return status >= 500 ? "Look into the log of the server." : "Check what was asked, and the url.";
}

function waitOf(retryAfter: string): string {
  return /^\d{1,9}$/.test(retryAfter) ? `${Number(retryAfter)} s` : printableText(retryAfter, 50);
}

/** That a response with a good status is none of the protocol: NOT_A_TOOL_SERVER, which says what came. */
export function notAToolServer(context: NetworkContext, response: ForeignAnswer): ToolServerError {
  const { status, mediaType, text } = response;
  const subject = subjectOf(context);
  const details = { status };
  if (status === 202 || status === 204) {
    const problem = `${subject} accepted the request, and responded with ${status}, which has no result in it.`;
    return failure("NOT_A_TOOL_SERVER", { problem, advice: "Check that the url is one of Streamable HTTP." }, details);
  }
  const title = titleOf(text);
  if (title !== undefined || mediaType === "text/html") {
    const name = title === undefined || title === "" ? "" : `, titled ${JSON.stringify(told(context, title))}`;
    const problem = `${subject} responded with a page in HTML${name}, not with ${json} or ${eventStream}. A sign-in page or a proxy may be in front of it.`;
    const advice = "Open the url in a browser, and check its path.";
    return failure("NOT_A_TOOL_SERVER", { problem, advice }, details);
  }
  const what = mediaType === "" ? "without a content type" : `of the type ${told(context, mediaType)}`;
  const words = text.trim() === "" ? "that is empty." : `that begins with "${told(context, text.trim())}".`;
  const problem = `${subject} responded with a body ${what} ${words} A tool server responds with ${json} or ${eventStream}.`;
  return failure("NOT_A_TOOL_SERVER", { problem, advice: "Check the url." }, details);
}

/** That the body of a response, of a good type, holds no message of the protocol. */
export function notAMessage(context: NetworkContext, text: string): ToolServerError {
  const words = text.trim() === "" ? "that is empty." : `that begins with "${told(context, text.trim())}".`;
  const problem = `${subjectOf(context)} responded with a body that holds no message of JSON-RPC, but one ${words}`;
  return failure("NOT_A_TOOL_SERVER", { problem, advice: "Check the url, and the server." }, {});
}

/** That what responds a request is not what the protocol allows. */
export function responseInvalid(context: NetworkContext, what: string): ToolServerError {
  return failure(
    "RESPONSE_INVALID",
    { problem: `${subjectOf(context)} ${what}.`, advice: "Look into the server." },
    {},
  );
}

/** That the response of a request never came. */
export function answerLost(context: NetworkContext, what: string, cause?: unknown): ToolServerError {
  const problem = `${subjectOf(context)} ${what}. Whether it did what was asked is not known.`;
  return new ToolServerError("CONNECTION_LOST", { problem, advice: "" }, { cause, details: { wasSent: true } });
}

/** The server, as messages begin with it. */
export function subjectOf({ server, url, secrets }: NetworkContext): string {
  return `The server ${JSON.stringify(server)} (${printableText(secrets.redact(url.origin), 200)})`;
}

/** What the body of a response says, for people: the message of an error of JSON-RPC, else the start of the text. */
function excerptOf(context: NetworkContext, response: ForeignAnswer): string {
  const { mediaType, text } = response;
  const error = errorIn(text);
  if (error !== undefined) return told(context, error.message);
  const title = titleOf(text);
  if (title !== undefined) return told(context, title);
  const isText = mediaType === "" || mediaType.startsWith("text/") || mediaType.endsWith("json");
  return isText ? told(context, text.trim()) : "";
}

function rpcErrorOf({ text }: ForeignAnswer): ToolServerErrorDetails {
  const error = errorIn(text);
  return error === undefined ? {} : { rpcCode: error.code };
}

function errorIn(text: string): RpcFault | undefined {
  const [message] = parseMessages(text) ?? [];
  return message === undefined || "method" in message ? undefined : message.error;
}

/** The title of a page in HTML; undefined where it is none. */
function titleOf(text: string): string | undefined {
  if (!/^\s*(?:<!doctype html|<html|<head|<body)/i.test(text)) return undefined;
  return /<title[^>]*>([^<]*)/i.exec(text)?.[1]?.trim().replace(/\s+/g, " ") ?? "";
}

/** Text of the server, without secrets, on one line, and cut; with a full stop where it has none. */
function told({ secrets }: NetworkContext, text: string): string {
  // Cut only after secrets are taken out, so that no part of one stays.
  return printableText(secrets.redact(text).replace(/\s+/g, " "), toldLength);
}

function pathOf({ url, secrets }: NetworkContext): string {
  return printableText(secrets.redact(url.pathname), 200);
}

function failure(code: ToolServerErrorCode, what: ErrorParts, details: ToolServerErrorDetails): ToolServerError {
  return new ToolServerError(code, what, { details: { ...details, wasSent: true } });
}
