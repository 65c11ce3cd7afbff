import { commandLine } from "@wirescope/tool-server/internal/command-line";
import type { EndpointRequest, EndpointResponse } from "../endpoint/http-request.js";
import { type Html, html, pageHeaders, pageOf } from "./html.js";
import type { PageAccess } from "./page-access.js";
import { statusPathOf, ticketScriptPath } from "./page-paths.js";

/** The `localStorage` key of the session key. Unlike a cookie, no other port of the host can read it. */
const keyName = "wirescope.key";

/** What a page shows: a gateway, or any processes that serve Channelz. */
export type PageKind = "gateway" | "target";

/** Says how to get a new link to the page of a gateway, or of other processes. */
export function linkHint(kind: PageKind): string {
  return kind === "gateway"
    ? `Get a new link with ${commandLine("page")}`
    : `Restart ${commandLine("page", "--target")} …, which prints a new link`;
}

export function sendMessage(response: EndpointResponse, status: number, text: string): void {
  response.writeHead(status, pageHeaders).end(pageOf("Wirescope", html`<h1>Wirescope</h1><p>${text}</p>`));
}

/** Refuses a browser that did not open a fresh link. */
export function sendRefusal(response: EndpointResponse, kind: PageKind = "gateway"): void {
  const again = kind === "gateway" ? ", or call the tool again" : "";
  sendMessage(response, 403, `This link is invalid, expired or already used. ${linkHint(kind)}${again}.`);
}

export interface TicketOptions {
  readonly access: PageAccess;
  readonly isSecure: boolean;
  readonly kind: PageKind;
  /** Whether the built page is installed. If not, a link opens the page without JavaScript. */
  readonly hasApp: boolean;
}

/** Exchanges the ticket of a link for a cookie, and redirects to the page of the link. */
export function redeemTicket(
  request: EndpointRequest,
  response: EndpointResponse,
  { access, isSecure, kind, hasApp }: TicketOptions,
): void {
  const ticket = new URLSearchParams(request.url?.split("?", 2)[1]).get("ticket") ?? "";
  const host = String(request.headers[":authority"] ?? request.headers.host ?? "");
  const entered = request.method === "GET" ? access.redeem(ticket, host, isSecure) : undefined;
  if (entered === undefined) {
    sendRefusal(response, kind);
    return;
  }
  const { key, path, cookie } = entered;
  const plain = path ?? statusPathOf(key);
  // Not an HTTP redirect: after one, a browser that came from another site does not send SameSite=Strict cookies.
  const refresh: Html = html`<meta http-equiv="refresh" content="0; url=${plain}">`;
  const isApp = hasApp && path === undefined;
  const next = isApp
    ? html`<noscript>${refresh}</noscript><script src="${ticketScriptPath}" data-key="${key}" data-plain="${plain}"></script>`
    : refresh;
  const headers = { ...pageHeaders, ...(isApp && ticketHeaders), "set-cookie": cookie };
  response.writeHead(200, headers).end(pageOf("Wirescope", html`<p><a href="${plain}">Continue</a></p>`, next));
}

const ticketHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": (pageHeaders["content-security-policy"] ?? "").replace("; ", "; script-src 'self'; "),
};

/** Stores the key for the page's scripts. A browser without storage gets the page without JavaScript. */
export const ticketScript: string = `const { key, plain } = document.currentScript.dataset;
let next = "/";
try {
  localStorage.setItem(${JSON.stringify(keyName)}, key);
} catch {
  next = plain;
}
location.replace(next);
`;
