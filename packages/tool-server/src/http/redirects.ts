import { ToolServerError } from "../errors.js";
import { printableText } from "../printable-text.js";
import { parseUrl } from "../url.js";
import type { HttpAnswer, HttpClient, HttpRequest } from "./http-client.js";

/** How often a request is sent on. */
const mostRedirects = 3;

/**
 * Sends a request, and follows where the answer sends it within the same origin, with all its headers: 301, 302, 307 and 308
 * of GET, and 307 and 308 of others, which keep their method. At most three times.
 *
 * Rejects with REDIRECT_REFUSED where it leads to another origin, or cannot be followed; nothing is sent there. `redact` takes
 * secrets out of the origin that the message names.
 */
export async function sendWithinOrigin(
  http: HttpClient,
  request: HttpRequest,
  redact: (text: string) => string = (text) => text,
): Promise<HttpAnswer> {
  const answer = await http.send(request);
  return isRedirect(answer.status) ? followWithinOrigin(http, request, answer, redact) : answer;
}

/** Follows where the answer to a request sends it, as `sendWithinOrigin` does. */
export async function followWithinOrigin(
  http: HttpClient,
  request: HttpRequest,
  first: HttpAnswer,
  redact: (text: string) => string,
): Promise<HttpAnswer> {
  let url = request.url;
  let answer = first;
  for (let followed = 0; isRedirect(answer.status); followed += 1) {
    const { status, headers } = answer;
    answer.discard();
    if (followed === mostRedirects) throw refused(request, status, `more than ${mostRedirects} times in a row`);
    url = targetOf(request, url, status, headers.location, redact);
    answer = await http.send({ ...request, url });
  }
  return answer;
}

/** Whether a status sends the request elsewhere. */
export function isRedirect(status: number): boolean {
  return status >= 301 && status <= 308 && status !== 304 && status !== 305 && status !== 306;
}

/** Where a redirect leads, where it may be followed. */
function targetOf(
  request: HttpRequest,
  from: URL,
  status: number,
  location: string | undefined,
  redact: (text: string) => string,
): URL {
  const target = location === undefined ? undefined : parseUrl(location, from);
  if (target === undefined) throw refused(request, status, "to nowhere");
  if (target.origin !== from.origin) {
    const origin = target.origin === "null" ? target.protocol : target.origin;
    const hint = isUpgrade(from, target)
      ? "Write https into the url."
      : "If that is the server you mean, write its url into the configuration.";
    throw refused(
      request,
      status,
      `to ${printableText(redact(origin), 200)}`,
      `Headers are never taken along. ${hint}`,
    );
  }
  if (target.username !== "" || target.password !== "") throw refused(request, status, "to a url with a user in it");
  const keepsMethod = status === 307 || status === 308 || (request.method === "GET" && status !== 303);
  if (!keepsMethod) throw refused(request, status, "within itself in a way that would not repeat the request");
  return target;
}

function isUpgrade(from: URL, target: URL): boolean {
  return from.protocol === "http:" && target.protocol === "https:" && from.hostname === target.hostname;
}

function refused({ url, leg }: HttpRequest, status: number, where: string, advice?: string): ToolServerError {
  const who = leg === undefined ? "The server" : `${leg.charAt(0).toUpperCase()}${leg.slice(1)}`;
  const next = advice ?? "Write the url that it leads to into the configuration.";
  const problem = `${who} at ${url.origin} answered ${status}, which sends the request ${where}.`;
  return new ToolServerError("REDIRECT_REFUSED", { problem, advice: next }, { details: { status, wasSent: true } });
}
