import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Gateway, HttpHandler } from "@wirescope/gateway";
import type { SignIn } from "@wirescope/tool-server";

export const signInPath = "/sign-in";

/** Lets the person who reads the terminal sign in with a browser, by a link that only they have. */
export interface SignInPage {
  readonly handler: HttpHandler;
  /** The link for a server. */
  linkFor(base: string, server: string): string;
}

type Response = Parameters<HttpHandler>[1];

const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
} as const;

/** `gateway` is asked when a link is followed. */
export function createSignInPage(gateway: () => Gateway): SignInPage {
  const ticket = randomBytes(24).toString("base64url");
  // Where sign-ins that are under way lead: who follows the link once more is sent there again.
  const underWay = new Map<string, string>();
  return {
    linkFor: (base, server) => `${base}${signInPath}?${new URLSearchParams({ server, ticket })}`,
    handler(request, response) {
      const { searchParams } = new URL(request.url ?? "/", "http://gateway");
      if (request.method !== "GET" || !isSame(searchParams.get("ticket") ?? "", ticket)) {
        sendPage(response, 403, "This link is not good, or not any more. Take the one that the gateway prints.");
        return;
      }
      const server = searchParams.get("server") ?? "";
      const url = underWay.get(server);
      if (url !== undefined) sendOn(response, url);
      else void signIn(gateway(), server, response, underWay);
    },
  };
}

/** Sends the browser on to the authorization server, whose answer comes back to a port of the sign-in's own. */
async function signIn(
  gateway: Gateway,
  server: string,
  response: Response,
  underWay: Map<string, string>,
): Promise<void> {
  let isAnswered = false;
  const answer = (status: number, text: string): void => {
    if (!isAnswered) sendPage(response, status, text);
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

function sendOn(response: Response, url: string): void {
  response.writeHead(303, { ...pageHeaders, location: url }).end();
}

function sendPage(response: Response, status: number, text: string): void {
  const escaped = text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
  const body = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Sign in</title></head><body><p>${escaped}</p></body></html>\n`;
  response.writeHead(status, pageHeaders).end(body);
}

function isSame(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}
