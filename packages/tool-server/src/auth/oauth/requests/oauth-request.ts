import { ToolServerError } from "../../../errors.js";
import type { HttpRequest, HttpResponse, ResponseHeaders } from "../../../http/http-client.js";
import { type JsonObject, parseJsonObject } from "../../../json-object.js";
import { untilAborted } from "../../../wait.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure, peerText, urlText } from "../oauth-errors.js";
import { describeRange } from "./address-judge.js";
import { addressRangeOf } from "./address-range.js";
import { endpointDefect } from "./endpoint-rules.js";

/** A request of one of the legs of OAuth. */
export interface OAuthRequest extends Pick<HttpRequest, "url" | "headers" | "body"> {
  readonly method: "GET" | "POST";
  /** What is asked for, as it stands in a sentence: `the token`. */
  readonly asked: string;
}

export interface OAuthAnswer {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: string;
  /** The body, where it is a JSON object. */
  readonly json: JsonObject | undefined;
}

/**
 * Sends a request within the limits of time and size, and reads the whole answer, whatever its status. Rejects with
 * AUTHORIZATION_SERVER_INVALID for a url that nothing is sent to or an answer that is too large, SERVER_UNREACHABLE where no
 * answer comes, or the signal's reason.
 */
export async function sendOAuthRequest(
  context: OAuthContext,
  request: OAuthRequest,
  signal?: AbortSignal,
): Promise<OAuthAnswer> {
  const { clock, limits } = context;
  const { url, asked } = request;
  const defect = endpointDefect(url, context);
  if (defect !== undefined) {
    throw oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", {
      problem: `${asked} is not requested from ${urlText(context, url)}: ${defect}.`,
      advice: "Report this to the operator of the server; if you know its issuer, pin it in the configuration.",
    });
  }
  const limit = new AbortController();
  const callOff = clock.after(limits.requestMs, () => {
    limit.abort(
      oauthFailure(context, "SERVER_UNREACHABLE", {
        problem: `${urlText(context, url)} did not respond within ${limits.requestMs / 1000} s to the request for ${asked}.`,
        advice: "Try again later.",
      }),
    );
  });
  const both = signal === undefined ? limit.signal : AbortSignal.any([limit.signal, signal]);
  try {
    both.throwIfAborted();
    const answer = await untilAborted(sendJudged(context, request, both), both);
    const text = await untilAborted(answer.text(limits.answerBytes), both).catch((error: unknown) => {
      answer.discard();
      throw error;
    });
    return { status: answer.status, headers: answer.headers, body: text, json: parseJsonObject(text) };
  } catch (error) {
    if (!ToolServerError.is(error, "MESSAGE_TOO_LARGE")) throw error;
    const problem = `the response of ${urlText(context, url)} is larger than ${limits.answerBytes} bytes.`;
    const parts = { problem, advice: "Check the url of the entry, or report this to the operator of the server." };
    throw oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", parts, { cause: error });
  } finally {
    callOff();
  }
}

/** Sends a request unless its host stands for an address that the tool server must not send us to. */
async function sendJudged(
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
      // It was refused before a connection stood, so nothing was sent.
      const found = refused as { readonly address: string; readonly host: string } | undefined;
      if (found === undefined || !ToolServerError.is(error, "SERVER_UNREACHABLE")) throw error;
      if (!isLast && (await addresses.reconsider(found.address, found.host, signal))) continue;
      const where = describeRange(addressRangeOf(found.address) ?? "reserved");
      throw oauthFailure(
        context,
        "AUTHORIZATION_SERVER_INVALID",
        {
          problem: `it sends the sign-in to ${urlText(context, url)}, which is ${where} (${found.address}), where the server itself is not. Nothing was sent.`,
          advice: "Check the url of the entry, or report this to the operator of the server.",
        },
        { cause: error },
      );
    }
  }
}

/** A request of a form, as the endpoints of OAuth take it. */
export function formRequest(
  url: URL,
  form: URLSearchParams,
  asked: string,
  headers: Readonly<Record<string, string>> = {},
): OAuthRequest {
  return {
    method: "POST",
    url,
    asked,
    body: form.toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json", ...headers },
  };
}

/** The error that an endpoint of OAuth answered with; its words are the peer's, made safe to show. */
export interface PeerError {
  /** `error` of the answer, where it has one. */
  readonly code: string | undefined;
  /** What to put into a message: the status, and what the peer said. */
  readonly text: string;
  /** What the peer said alone. */
  readonly said: string;
}

/** What an answer that is no success says of itself. */
export function peerErrorOf(context: OAuthContext, { status, json }: OAuthAnswer): PeerError {
  const code = typeof json?.error === "string" ? json.error : undefined;
  const description = typeof json?.error_description === "string" ? json.error_description : undefined;
  const words = [code, description].filter((part) => part !== undefined).map((part) => peerText(context, part));
  const said = words.join(": ");
  return { code, said, text: said === "" ? `status ${status}` : `status ${status}: "${said}"` };
}

/** Whether a status tells of trouble that may be gone in a moment. */
export function isPassingStatus(status: number): boolean {
  return status >= 500 || status === 429 || status === 408;
}
