import { untilAborted } from "../../../clock.js";
import { ToolServerError } from "../../../errors.js";
import type { HttpRequest, HttpResponse, ResponseHeaders } from "../../../http/http-client.js";
import { type JsonObject, parseJsonObject } from "../../../json-object.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure, peerText, urlText } from "../oauth-errors.js";
import { addressRangeOf, rangeNames } from "./address-guard.js";
import { endpointDefect } from "./endpoint-rules.js";

/** A request to an authorization server. */
export interface OAuthRequest extends Pick<HttpRequest, "url" | "headers" | "body"> {
  readonly method: "GET" | "POST";
  /** What is requested, for messages: `a token`. */
  readonly requested: string;
  /** The time limit with the body, in milliseconds. Default `limits.requestMs`. */
  readonly limitMs?: number | undefined;
  /** Whether another document is tried if this one does not exist. Default false. */
  readonly isSearch?: boolean | undefined;
}

export interface OAuthResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: string;
  /** The body, if it is a JSON object. */
  readonly json: JsonObject | undefined;
}

/**
 * Sends a request within the limits of time and size, and reads the complete response, regardless of its status. Rejects with
 * AUTHORIZATION_SERVER_INVALID for a forbidden url or a response that is too large, with SERVER_UNREACHABLE without a
 * response, or with the signal's reason.
 */
export async function sendOAuthRequest(
  context: OAuthContext,
  request: OAuthRequest,
  signal?: AbortSignal,
): Promise<OAuthResponse> {
  const step = { name: stepName(request), request };
  return context.log.request(step, () => sendWithinLimits(context, request, signal));
}

/** The name of the step of a request: what is requested, without its article. */
export function stepName({ requested }: Pick<OAuthRequest, "requested">): string {
  return requested.replace(/^an? /, "");
}

async function sendWithinLimits(
  context: OAuthContext,
  request: OAuthRequest,
  signal: AbortSignal | undefined,
): Promise<OAuthResponse> {
  const { clock, limits } = context;
  const { url, requested, limitMs = limits.requestMs } = request;
  const defect = endpointDefect(url, context);
  if (defect !== undefined) {
    throw oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", {
      problem: `refused to request ${requested} from ${urlText(context, url)}: ${defect}.`,
      advice: "Report this to the operator of the server; if you know its issuer, set it in the configuration.",
    });
  }
  const limit = new AbortController();
  const cancelTimer = clock.after(limitMs, () => {
    const problem = `${urlText(context, url)} did not respond within ${limitMs / 1000} s to the request for ${requested}.`;
    limit.abort(oauthFailure(context, "SERVER_UNREACHABLE", { problem, advice: "Try again later." }));
  });
  const both = signal === undefined ? limit.signal : AbortSignal.any([limit.signal, signal]);
  try {
    both.throwIfAborted();
    const response = await untilAborted(sendGuarded(context, request, both), both);
    const text = await untilAborted(response.text(limits.responseBytes), both).catch((error: unknown) => {
      response.discard();
      throw error;
    });
    return { status: response.status, headers: response.headers, body: text, json: parseJsonObject(text) };
  } catch (error) {
    if (!ToolServerError.is(error, "MESSAGE_TOO_LARGE")) throw error;
    const problem = `the response of ${urlText(context, url)} exceeds ${limits.responseBytes} bytes.`;
    const parts = { problem, advice: "Check the url of the server, or report this to its operator." };
    throw oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", parts, { cause: error });
  } finally {
    cancelTimer();
  }
}

/** Sends a request unless its host resolves to a forbidden address. */
async function sendGuarded(
  context: OAuthContext,
  { method, url, headers, body }: OAuthRequest,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const { http, addresses, server } = context;
  const peer = `the authorization server of ${JSON.stringify(server)}`;
  for (let isLast = false; ; isLast = true) {
    let refused: { readonly address: string; readonly host: string } | undefined;
    const isAddressAllowed = (address: string, host: string): boolean => {
      const isAllowed = addresses.isAllowed(address, host);
      if (!isAllowed) refused = { address, host };
      return isAllowed;
    };
    try {
      return await http.send({ method, url, headers, body, signal, peer, isAddressAllowed, isSafe: method === "GET" });
    } catch (error) {
      // It was refused before the connection was established, so nothing was sent.
      const found = refused as { readonly address: string; readonly host: string } | undefined;
      if (found === undefined || !ToolServerError.is(error, "SERVER_UNREACHABLE")) throw error;
      if (!isLast && (await addresses.reconsider(found.address, found.host, signal))) continue;
      const where = rangeNames[addressRangeOf(found.address) ?? "reserved"];
      const problem = `it redirects the sign-in to ${urlText(context, url)}, which is ${where} (${found.address}), unlike the server itself. Nothing was sent.`;
      const advice = "Check the url of the server, or report this to its operator.";
      throw oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", { problem, advice }, { cause: error });
    }
  }
}

/** A form request, as OAuth endpoints expect it. */
export function formRequest(
  url: URL,
  form: URLSearchParams,
  requested: string,
  headers: Readonly<Record<string, string>> = {},
): OAuthRequest {
  return {
    method: "POST",
    url,
    requested,
    body: form.toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json", ...headers },
  };
}

/** An error response of an OAuth endpoint, with the peer's text made safe to show. */
export interface PeerError {
  /** The `error` field of the response. */
  readonly code: string | undefined;
  /** For messages: the status, and the peer's text. */
  readonly text: string;
  /** The peer's text only. */
  readonly said: string;
}

export function peerErrorOf(context: OAuthContext, { status, json }: OAuthResponse): PeerError {
  const code = typeof json?.error === "string" ? json.error : undefined;
  const description = typeof json?.error_description === "string" ? json.error_description : undefined;
  const parts = [code, description].filter((part) => part !== undefined).map((part) => peerText(context, part));
  const said = parts.join(": ");
  return { code, said, text: said === "" ? `status ${status}` : `status ${status}: "${said}"` };
}

export function isTransientStatus(status: number): boolean {
  return status >= 500 || status === 429 || status === 408;
}
