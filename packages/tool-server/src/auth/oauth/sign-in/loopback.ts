import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { untilAborted } from "../../../clock.js";
import { messageOf } from "../../../errors.js";
import { parseUrl } from "../../../url.js";
import type { OAuthContext, RedirectOptions } from "../oauth-context.js";
import { oauthFailure, peerText } from "../oauth-errors.js";
import type { Redirect, Redirector, SignInEnding } from "./ask.js";

const callbackPath = "/callback";
const rejectedResponse =
  "Rejected a response that does not belong to this sign-in (its state differs), such as that of an older page. Still waiting for the page that was opened last.";
const maxUrlLength = 16_384;
/** How long the last page may take to reach the browser. */
const showMs = 1000;
/** How long the browser waits for the result; token requests are shorter. */
const waitMs = 60_000;

/** Receives the redirect on loopback addresses of this machine. Rejects with SIGN_IN_FAILED, which names the port, if it is in use. */
export const loopback: Redirector = { open };

async function open(context: OAuthContext, { host = "127.0.0.1", port = 0 }: RedirectOptions): Promise<Redirect> {
  const state = randomBytes(32).toString("base64url");
  let receiver: ((parameters: URLSearchParams) => void) | undefined;
  let hasNoted = false;

  /** The browser that waits for the result. */
  let waiting: ServerResponse | undefined;

  const show = async (page: CallbackPage): Promise<void> => {
    const response = waiting;
    waiting = undefined;
    if (response === undefined || response.destroyed) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, showMs);
      response.once("close", () => {
        clearTimeout(timer);
        resolve();
      });
      response.writeHead(200, page.headers).end(page.html);
    });
  };

  /** The page for a request; undefined if the browser has to wait for it. */
  const respond = (request: IncomingMessage, authority: string): [number, CallbackPage] | undefined => {
    const { method, url = "", headers } = request;
    // A DNS rebinding attack has another Host header.
    if (headers.host !== authority) return [403, callbackPage("Forbidden", "This address is only for sign-ins.")];
    const target = url.length > maxUrlLength ? undefined : parseUrl(url, `http://${authority}`);
    if (method !== "GET" || target === undefined) {
      return [400, callbackPage("Bad request", "This address is only for sign-ins.")];
    }
    const { pathname, searchParams } = target;
    if (pathname !== callbackPath) return [404, callbackPage("Not found", "This address is only for sign-ins.")];
    if (receiver === undefined || searchParams.get("state") !== state) {
      const isResponse = ["state", "code", "error"].some((name) => searchParams.has(name));
      // After the response, the browser may repeat it: the user then waits for nothing. Once, because any page can send such requests.
      if (isResponse && receiver !== undefined && !hasNoted) {
        hasNoted = true;
        context.log.note("callback-rejected", rejectedResponse, "warning");
      }
      const text = "This response does not belong to the current sign-in. Start again.";
      return [400, callbackPage("Not your sign-in", text)];
    }
    receiver(searchParams);
    receiver = undefined;
    return undefined;
  };

  const servers: Server[] = [];
  const close = async (): Promise<void> => {
    await show(resultElsewhere(context.server));
    await Promise.all(
      servers.map((server) => {
        const closed = new Promise((resolve) => server.close(resolve));
        server.closeAllConnections();
        return closed;
      }),
    );
  };
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    // A browser that disconnects is not an error: since Node 24, an unhandled one would end the process.
    request.on("error", () => {});
    response.on("error", () => {});
    const [status, page] = respond(request, `${host}:${bound}`) ?? [];
    if (status !== undefined && page !== undefined) {
      response.writeHead(status, page.headers).end(request.method === "HEAD" ? "" : page.html);
      return;
    }
    waiting = response;
    setTimeout(() => {
      if (waiting === response) void show(resultElsewhere(context.server));
    }, waitMs).unref();
  };

  let bound = port;
  // "localhost" may resolve to either; another program on the other address would receive the response.
  for (const address of host === "localhost" ? ["127.0.0.1", "::1"] : ["127.0.0.1"]) {
    const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000, maxHeaderSize: 32_768 }, serve);
    try {
      bound = await listen(server, address, bound);
      servers.push(server);
    } catch (error) {
      if (address === "::1" && errnoOf(error) !== "EADDRINUSE") continue;
      await close();
      throw cannotListen(context, address, bound, error);
    }
  }

  return {
    uri: `http://${host}:${bound}${callbackPath}`,
    state,
    linkTo: (url) => url,
    receive(signal) {
      const received = new Promise<URLSearchParams>((resolve) => {
        receiver = resolve;
      });
      return untilAborted(received, signal).finally(() => {
        receiver = undefined;
      });
    },
    async end(ending) {
      if (ending !== undefined) await show(endingPage(context, ending));
      await close();
    },
  };
}

function endingPage(context: OAuthContext, { failure, returnTo }: SignInEnding): CallbackPage {
  const { server } = context;
  if (failure === undefined) {
    return callbackPage(`Signed in to ${server}`, returnTo === undefined ? "You can close this tab." : "", returnTo);
  }
  return callbackPage("Sign-in failed", peerText(context, messageOf(failure), maxReasonLength), returnTo);
}

const maxReasonLength = 1000;

function resultElsewhere(server: string): CallbackPage {
  return callbackPage("Signing in", `The result is shown where you started the sign-in to ${server}.`);
}

function listen(server: Server, address: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: address, port, exclusive: true }, () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function cannotListen(context: OAuthContext, address: string, port: number, error: unknown): Error {
  const code = errnoOf(error);
  const why = code === "EADDRINUSE" ? "is in use by another program" : `cannot be used (${code ?? "unknown"})`;
  const steps: Readonly<Record<string, string>> = {
    EADDRINUSE: "Stop that program, or set another callbackPort",
    EACCES: "Set a callbackPort of 1024 or more",
  };
  const problem = `port ${port} of ${address}, the redirect of its sign-in, ${why}.`;
  const advice = `${steps[code ?? ""] ?? "Set another callbackPort"}. If you set a clientId, register the new redirect URI for that client too.`;
  return oauthFailure(context, "SIGN_IN_FAILED", { problem, advice }, { cause: error });
}

/** Whether a sign-in failed because another program listens on the port of its redirect. */
export function isPortInUse(error: unknown): boolean {
  return error instanceof Error && errnoOf(error.cause) === "EADDRINUSE";
}

function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}

const style = "body{font:16px/1.5 system-ui,sans-serif;margin:15vh auto;max-width:32rem;padding:0 1rem}";

interface CallbackPage {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The last page of a sign-in. It runs no script and loads nothing; text of a peer, such as the reason of a refusal, is escaped. */
function callbackPage(heading: string, text: string, returnTo?: string): CallbackPage {
  const back = returnTo === undefined ? "" : `\n<p><a href="${escapeHtml(returnTo)}">Back to Wirescope</a></p>`;
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${escapeHtml(heading)}</title>
<style>${style}</style>
<h1>${escapeHtml(heading)}</h1>
<p>${escapeHtml(text)}</p>${back}
</html>
`;
  const hash = createHash("sha256").update(style).digest("base64");
  return {
    html,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-length": String(Buffer.byteLength(html)),
      "content-security-policy": `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
      connection: "close",
    },
  };
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
