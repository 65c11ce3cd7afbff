import type { Gateway, HttpHandler } from "@wirescope/gateway";
import type { SignIn } from "@wirescope/tool-server";
import { pageHeaders } from "./html.js";
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
    else await signIn(gateway(), server, response, underWay);
  });
}

/** Sends the browser on to the authorization server, whose answer comes back to a port of the sign-in's own. */
async function signIn(
  gateway: Gateway,
  server: string,
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

function sendOn(response: PageResponse, url: string): void {
  response.writeHead(303, { ...pageHeaders, location: url }).end();
}
