import type { HttpHandler } from "@wirescope/gateway";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import { html, pageHeaders, pageOf } from "./html.js";
import type { PageAccess } from "./page-access.js";

export type PageResponse = Parameters<HttpHandler>[1];

const refusal = (): string =>
  `This link is invalid, expired or already used. Get a new one with ${commandLine("page")}, or call the tool again.`;

/** Sends a page with one message. */
export function sendMessage(response: PageResponse, status: number, text: string): void {
  response.writeHead(status, pageHeaders).end(pageOf("Wirescope", html`<h1>Wirescope</h1><p>${text}</p>`));
}

/** Shows a page to a browser that came by a fresh link, and to nobody else. */
export function withAccess(
  access: PageAccess,
  show: (query: URLSearchParams, response: PageResponse) => Promise<void>,
): HttpHandler {
  return (request, response) => {
    if (request.method !== "GET" || !access.admits(request.headers.cookie)) {
      sendMessage(response, 403, refusal());
      return;
    }
    const { searchParams } = new URL(request.url ?? "/", "http://gateway");
    void show(searchParams, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendMessage(response, 500, error instanceof Error ? error.message : String(error));
    });
  };
}

/** Exchanges the ticket of a link for a cookie, and continues to the page of the link. */
export function createEntrance(access: PageAccess, isSecure: () => boolean): HttpHandler {
  return (request, response) => {
    const ticket = new URL(request.url ?? "/", "http://gateway").searchParams.get("ticket") ?? "";
    const entered = request.method === "GET" ? access.redeem(ticket, isSecure()) : undefined;
    if (entered === undefined) {
      sendMessage(response, 403, refusal());
      return;
    }
    const { path, cookie } = entered;
    // Not a redirect: after one, a browser that came from another site does not send a cookie that is SameSite=Strict.
    const body = html`<p><a href="${path}">Continue</a></p>`;
    response.writeHead(200, { ...pageHeaders, "set-cookie": cookie });
    response.end(pageOf("Wirescope", body, { afterS: 0, path }));
  };
}
