import type { Gateway, HttpHandler } from "@wirescope/gateway";
import type { ForeignOrigin, SignIn } from "@wirescope/tool-server";
import { html, pageHeaders, pageOf } from "./html.js";
import type { PageAccess } from "./page-access.js";
import { type PageResponse, sendMessage, withAccess } from "./send-page.js";

/** The path of the sign-in to a server; without one, the path of the page itself. */
export function signInPathOf({ basePath }: PageAccess, server?: string): string {
  const path = `${basePath}/sign-in`;
  return server === undefined ? path : `${path}?${new URLSearchParams({ server })}`;
}

/** Lets a person who may see the pages sign in with a browser. */
export function createSignInPage(gateway: () => Gateway, access: PageAccess): HttpHandler {
  // Where sign-ins that are under way lead: who follows the link once more is sent there again.
  const underWay = new Map<string, string>();
  return withAccess(access, async (query, response) => {
    const server = query.get("server") ?? "";
    const url = underWay.get(server);
    if (url !== undefined) sendOn(response, url);
    else {
      const confirmLink = (origin: string): string =>
        `${signInPathOf(access, server)}&${new URLSearchParams({ origin })}`;
      await signIn(gateway(), { server, confirmedOrigin: query.get("origin"), confirmLink }, response, underWay);
    }
  });
}

interface SignInQuery {
  readonly server: string;
  /** The origin that the person agreed to sign in at, by a link of the page that asks. */
  readonly confirmedOrigin: string | null;
  /** Begins a sign-in again that may go to this origin. */
  confirmLink(origin: string): string;
}

/** Sends the browser on to the authorization server, whose answer comes back to a port of the sign-in's own. */
async function signIn(
  gateway: Gateway,
  { server, confirmedOrigin, confirmLink }: SignInQuery,
  response: PageResponse,
  underWay: Map<string, string>,
): Promise<void> {
  let isAnswered = false;
  const answer = (status: number, text: string): void => {
    if (!isAnswered) sendMessage(response, status, text);
    isAnswered = true;
  };
  const person: SignIn = {
    async begin({ way }) {
      if (way.kind !== "browser")
        throw new Error("This server is signed in to on another device: use wirescope login.");
      underWay.set(server, way.url);
      if (!isAnswered) sendOn(response, way.url);
      isAnswered = true;
      return undefined;
    },
    async confirmOrigin(page) {
      if (page.origin === confirmedOrigin) return true;
      // This sign-in ends; the link begins another one.
      if (!isAnswered) askForOrigin(response, page, confirmLink(page.origin));
      isAnswered = true;
      return false;
    },
  };
  try {
    const session = await gateway.oauth(server);
    if (session === undefined) return answer(404, "This server brings its own credential.");
    await session.signIn(person);
    // Who joined a sign-in that was under way is not sent anywhere.
    answer(200, "Signed in. You can close this page.");
    await gateway.reconnect(server);
  } catch (error) {
    answer(502, error instanceof Error ? error.message : String(error));
  } finally {
    underWay.delete(server);
  }
}

function askForOrigin(response: PageResponse, { server, issuer, origin }: ForeignOrigin, link: string): void {
  const body = html`<h1>Sign in to ${server}</h1>
<p>Its authorization server wants you to sign in at a page of another origin.</p>
<dl><dt>Authorization server</dt><dd><code>${issuer}</code></dd><dt>Page to sign in at</dt><dd><code>${origin}</code></dd></dl>
<p>Many services use two hosts. A hostile server does the same to get at your account at the other one. Continue only if you know that both belong together.</p>
<p class="todo"><a href="${link}">They belong together: sign in at ${origin}</a></p>`;
  response.writeHead(200, pageHeaders).end(pageOf("Wirescope", body));
}

function sendOn(response: PageResponse, url: string): void {
  response.writeHead(303, { ...pageHeaders, location: url }).end();
}
