import { createHash, timingSafeEqual } from "node:crypto";
import type { HttpHandler } from "@wirescope/gateway";
import type { Gateway } from "@wirescope/gateway/internal";
import type { PageAccess } from "./page-access.js";
import { adminHeader } from "./request-link.js";
import { signInPathOf } from "./sign-in-page.js";

/** Makes a fresh link to the page, or to the sign-in of the server in the query, for a caller with the administrator's token. */
export function createLinkPage(gateway: () => Gateway, access: PageAccess): HttpHandler {
  return (request, response) => {
    const { adminToken, url = "", servers } = gateway();
    const { searchParams } = new URL(request.url ?? "/", "http://gateway");
    const server = searchParams.get("server");
    const send = (status: number, body: object): void => {
      const headers = { "content-type": "application/json", "cache-control": "no-store" };
      response.writeHead(status, headers).end(JSON.stringify(body));
    };
    if (request.method !== "POST" || !isSame(String(request.headers[adminHeader] ?? ""), adminToken)) {
      send(403, { message: `Send POST with the administrator's token in the header ${adminHeader}.` });
    } else if (server !== null && !servers().some(({ name }) => name === server)) {
      const names = servers().map(({ name }) => name);
      send(404, {
        message: `The gateway has no server ${JSON.stringify(server)}. Servers: ${names.join(", ") || "none"}.`,
      });
    } else {
      send(200, { link: access.linkTo(url, server === null ? access.basePath : signInPathOf(access, server)) });
    }
  };
}

function isSame(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}
