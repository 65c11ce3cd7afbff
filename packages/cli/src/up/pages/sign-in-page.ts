import type { HttpHandler } from "@wirescope/gateway";
import type { Gateway } from "@wirescope/gateway/internal";
import {
  html,
  type PlainPageRequest,
  pageHeaders,
  pageOf,
  sendMessage,
  statusPathOf,
} from "@wirescope/gateway/internal/page";
import { ToolServerError } from "@wirescope/tool-server";
import type { Ask, ForeignOrigin } from "@wirescope/tool-server/auth";

type PageResponse = Parameters<HttpHandler>[1];

/** The path of the sign-in page below the status page. */
export const signInPath = "/sign-in";

/** The path of the sign-in to a server, for the session with this key. */
export function signInPathOf(key: string, server: string): string {
  return `${statusPathOf(key)}${signInPath}?${new URLSearchParams({ server })}`;
}

export interface SignInPageRequest extends Pick<PlainPageRequest, "query" | "key" | "session"> {
  /** The page to return to after the sign-in. Default: none. */
  readonly returnTo?: string | undefined;
}

/**
 * Lets an administrator of the gateway sign in to a server: redirects the browser to the authorization server, which redirects it back to a
 * separate port for this sign-in.
 */
export async function sendSignInPage(
  gateway: Gateway,
  { query, key, session, returnTo }: SignInPageRequest,
  response: PageResponse,
): Promise<void> {
  const show = (status: number, text: string): void => {
    if (!response.headersSent) sendMessage(response, status, text);
  };
  if (session.rights !== "administrator") {
    return show(403, "This link is read-only. Open an administrator link to sign in.");
  }
  const server = query.get("server") ?? "";
  try {
    if ((await gateway.oauth(server)) === undefined)
      return show(404, "This server has its own credential in the configuration and does not use OAuth.");
    const confirmed = query.get("origin");
    const ask: Ask = {
      async show({ way }) {
        if (way.kind !== "browser") show(200, `Open ${way.url} on any device and enter the code ${way.userCode}.`);
        else if (!response.headersSent) response.writeHead(303, { ...pageHeaders, location: way.url }).end();
        return undefined;
      },
      confirm: async (question) => question.kind === "origin" && question.origin === confirmed,
    };
    await gateway.signIn(server, ask, { returnTo });
    show(200, `Signed in to ${server}. You can close this tab.`);
  } catch (error) {
    const page = ToolServerError.is(error) ? error.details.foreignOrigin : undefined;
    if (page !== undefined && !response.headersSent) {
      // This sign-in has ended; the link starts a new one, with this origin confirmed.
      const link = `${signInPathOf(key, server)}&${new URLSearchParams({ origin: page.origin })}`;
      askForOrigin(response, { server, ...page }, link);
    }
    show(502, error instanceof Error ? error.message : String(error));
  }
}

function askForOrigin(
  response: PageResponse,
  { server, issuer, origin, tokenOrigin }: Omit<ForeignOrigin, "kind">,
  link: string,
): void {
  const body = html`<h1>Sign in to ${server}</h1>
<p>The sign-in page of its authorization server is at another origin.</p>
<dl><dt>Authorization server</dt><dd><code>${issuer}</code></dd><dt>Sign-in page</dt><dd><code>${origin}</code></dd>${tokenOrigin === undefined ? "" : html`<dt>Token endpoint</dt><dd><code>${tokenOrigin}</code></dd>`}</dl>
<p>Many services use two hosts, but a hostile server can do the same to get access to your account on the other one. Continue only if you know that both belong to the same service.</p>
<p class="todo"><a href="${link}">Yes, sign in at ${origin}</a></p>`;
  response.writeHead(200, pageHeaders).end(pageOf("Wirescope", body));
}
