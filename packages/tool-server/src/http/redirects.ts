import { ToolServerError } from "../errors.js";
import { printableText } from "../printable-text.js";
import type { SecretRegistry } from "../secrets/redactor.js";
import { originOf, parseUrl } from "../url.js";
import type { HttpClient, HttpRequest, HttpResponse } from "./http-client.js";
import { capitalized } from "./http-failure.js";

/** The maximum number of redirects. */
const maxRedirects = 3;

interface RedirectContext {
  readonly http: HttpClient;
  /** Redacts the origin in a message. */
  readonly secrets: Pick<SecretRegistry, "redact">;
}

/**
 * Sends a request and follows redirects within the same origin, with all headers: 301, 302, 307 and 308 for GET; 307 and 308
 * for other methods, which keep the method. At most three times.
 *
 * Rejects with REDIRECT_REFUSED if a redirect points to another origin or cannot be followed; nothing is sent there.
 */
export async function sendWithinOrigin(context: RedirectContext, request: HttpRequest): Promise<HttpResponse> {
  return followWithinOrigin(context, request, await context.http.send(request));
}

/** Follows the redirects of a response, as `sendWithinOrigin` does; resolves with the response if it is not one. */
export async function followWithinOrigin(
  { http, secrets }: RedirectContext,
  request: HttpRequest,
  first: HttpResponse,
): Promise<HttpResponse> {
  let url = request.url;
  let response = first;
  for (let followed = 0; isRedirect(response.status); followed += 1) {
    const { status, headers } = response;
    response.discard();
    if (followed === maxRedirects) throw refused(request, status, `more than ${maxRedirects} times in a row`);
    url = targetOf(request, url, status, headers.location, secrets);
    response = await http.send({ ...request, url });
  }
  return response;
}

export function isRedirect(status: number): boolean {
  return status >= 301 && status <= 308 && status !== 304 && status !== 305 && status !== 306;
}

function targetOf(
  request: HttpRequest,
  from: URL,
  status: number,
  location: string | undefined,
  secrets: RedirectContext["secrets"],
): URL {
  const target = location === undefined ? undefined : parseUrl(location, from);
  if (target === undefined) throw refused(request, status, "without a valid Location");
  if (target.origin !== from.origin) {
    const hint = isUpgrade(from, target) ? "Use https in the URL." : "If that is the server you mean, use its URL.";
    const where = `to ${printableText(secrets.redact(originOf(target)), 200)}`;
    throw refused(request, status, where, `Headers are never sent to another origin. ${hint}`);
  }
  if (target.username !== "" || target.password !== "") throw refused(request, status, "to a URL that contains a user");
  const keepsMethod = status === 307 || status === 308 || (request.method === "GET" && status !== 303);
  if (!keepsMethod) throw refused(request, status, "in a way that does not repeat its method");
  return target;
}

function isUpgrade(from: URL, target: URL): boolean {
  return from.protocol === "http:" && target.protocol === "https:" && from.hostname === target.hostname;
}

function refused(
  { url, peer = "the server" }: HttpRequest,
  status: number,
  where: string,
  advice = "Put the target URL into the configuration.",
): ToolServerError {
  const problem = `${capitalized(peer)} at ${url.origin} returned ${status}, which redirects the request ${where}.`;
  return new ToolServerError("REDIRECT_REFUSED", { problem, advice }, { details: { status, wasSent: true } });
}
