import { createHash, timingSafeEqual } from "node:crypto";
import type { HttpHandler } from "@wirescope/gateway";
import type { Gateway } from "@wirescope/gateway/internal";
import type { PageAccess, PageLink } from "@wirescope/gateway/internal/page";
import type { Io } from "../../io.js";
import type { ServerCommands } from "../to-do.js";
import { adminHeader } from "./request-link.js";
import { signInPathOf } from "./sign-in-page.js";

/**
 * Creates a new link to the page, or to the sign-in of the server in the query, for a caller with the administrator's token. With
 * `rights=reader` the link is read-only.
 */
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
    } else if (server !== null && searchParams.get("rights") === "reader") {
      send(400, { message: "A link that can only read cannot start a sign-in." });
    } else {
      const rights = searchParams.get("rights") === "reader" ? "reader" : "administrator";
      const link: PageLink = server === null ? { rights } : { path: (key) => signInPathOf(key, server) };
      send(200, { link: access.linkTo(url, link) });
    }
  };
}

function isSame(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

/** The links or commands in the notice that open the page, and the sign-in to a server. */
export interface PrintedLinks {
  readonly page: string;
  readonly signInOf: (server: string) => string;
}

/**
 * Links if standard output is a terminal, else commands: others may read a journal or the log of a container, and must not get access
 * through a link in it.
 */
export function printedLinks(
  { stdout }: Pick<Io, "stdout">,
  access: PageAccess,
  origin: string,
  commands: Pick<ServerCommands, "program" | "about">,
): PrintedLinks {
  if (!stdout.isTTY) {
    return { page: `${commands.program} page`, signInOf: (server) => commands.about("login", server) };
  }
  return {
    page: access.linkTo(origin),
    signInOf: (server) => access.linkTo(origin, { path: (key) => signInPathOf(key, server) }),
  };
}
