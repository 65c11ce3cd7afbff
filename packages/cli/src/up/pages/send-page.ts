import type { HttpHandler } from "@wirescope/gateway";
import { html, pageHeaders, pageOf } from "./html.js";
import type { Ticket } from "./ticket.js";

export type PageResponse = Parameters<HttpHandler>[1];

/** Answers with a page that says one thing. */
export function sendMessage(response: PageResponse, status: number, text: string): void {
  response.writeHead(status, pageHeaders).end(pageOf("Wirescope", html`<h1>Wirescope</h1><p>${text}</p>`));
}

/** Shows a page to who comes by a link with the ticket, and to nobody else. */
export function withTicket(
  ticket: Ticket,
  show: (query: URLSearchParams, response: PageResponse) => Promise<void>,
): HttpHandler {
  return (request, response) => {
    const { searchParams } = new URL(request.url ?? "/", "http://gateway");
    if (request.method !== "GET" || !ticket.admits(searchParams)) {
      sendMessage(response, 403, "This link is not good, or not any more. Take the one that the gateway prints.");
      return;
    }
    void show(searchParams, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendMessage(response, 500, error instanceof Error ? error.message : String(error));
    });
  };
}
