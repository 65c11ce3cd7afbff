import type { Admission, ListenOptions } from "@wirescope/channelz/listener";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import { type EndpointRequest, type EndpointResponse, headerOf } from "../endpoint/http-request.js";
import type { PageAccess, PageSession } from "./page-access.js";
import { type Assets, encodingOf, readAssets } from "./page-assets.js";
import { appFrameDocument, appFrameHeaders, appHeaders } from "./page-headers.js";
import {
  appFramePath,
  isPublicPagePath,
  isSessionPath,
  isViewPath,
  keyHeader,
  nonceHeader,
  parseStatusPath,
  sessionPath,
  ticketScriptPath,
  toolPath,
} from "./page-paths.js";
import { linkHint, type PageKind, redeemTicket, sendMessage, sendRefusal, ticketScript } from "./send-page.js";

/** What the page shows, as its scripts read it from `/session`. */
export interface PageInfo {
  readonly kind: PageKind;
  readonly title: string;
  readonly targets: readonly string[];
  readonly version: string;
  /** The parts of the page that this process can serve. */
  readonly features: {
    readonly servers: boolean;
    readonly tools: boolean;
    readonly calls: boolean;
    readonly capture: boolean;
  };
}

/** A request for one of the pages without JavaScript, from a browser that has a session. */
export interface PlainPageRequest {
  /** The path below the status page, such as `/sign-in`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly key: string;
  readonly session: PageSession;
}

/** Handles the pages without JavaScript. Returns false if there is no page at this path. */
export type PlainPages = (request: PlainPageRequest, response: EndpointResponse) => Promise<boolean>;

/** The page of a process, for browsers. */
export interface PageOptions {
  readonly access: PageAccess;
  /** The folder with the built page. Default: none; then only the pages without JavaScript are served. */
  readonly assets?: string | undefined;
  readonly plainPages?: PlainPages | undefined;
}

/** The page of a process: its files, its session and the access of browsers. */
export interface Page {
  /** For the listener's guard: which requests need no token, and which a browser's session may send. */
  readonly admit: NonNullable<ListenOptions["admit"]>;
  /** Handles a request if its path belongs to the page. */
  handle(request: EndpointRequest, response: EndpointResponse, path: string): boolean;
  /** The session of the browser that sent a request; undefined if it has none, or does not send its key. */
  sessionOf(headers: {
    readonly cookie: string | undefined;
    readonly key: string | undefined;
  }): PageSession | undefined;
}

export interface CreatePageOptions extends PageOptions {
  readonly info: () => PageInfo;
  /** Whether something else is served at a path. A browser with a session gets the page's own "not found" at all others. */
  readonly isServed: (path: string) => boolean;
  readonly isSecure: boolean;
}

export function createPage({ access, assets: folder, plainPages, info, isServed, isSecure }: CreatePageOptions): Page {
  let reading: Promise<Assets> | undefined;

  const sessionOf: Page["sessionOf"] = ({ cookie, key }) => {
    const session = access.find(cookie, key);
    return session?.hasKey(key) === true ? session : undefined;
  };

  // The path of a service has a dot.
  const isUnknown = (path: string): boolean => !isServed(path) && /^\/[\w/-]+$/.test(path) && !isPublicPagePath(path);

  const admit = ({ method, path, headers }: Parameters<Page["admit"]>[0]): Admission => {
    if (isPublicPagePath(path)) return "public";
    const key = headerOf(headers, keyHeader);
    const session = isSessionPath(path) ? access.find(headers.cookie, key) : undefined;
    if (session === undefined) {
      // The same for every path, so that nobody learns which paths exist.
      const isBrowser = method === "GET" && headers.accept?.includes("text/html") === true;
      if (isBrowser && isUnknown(path) && access.find(headers.cookie, undefined) !== undefined) return "public";
      return isBrowser ? { advice: `In a browser, open the page by a link. ${linkHint(info().kind)}.` } : undefined;
    }
    if (!session.hasKey(key)) {
      return {
        refused: `Requests from a browser require the session key in the header ${keyHeader}. ${linkHint(info().kind)}.`,
      };
    }
    if (path === toolPath && session.rights === "reader") return { refused: readOnly };
    return "authenticated";
  };

  const sendSession = (request: EndpointRequest, response: EndpointResponse): void => {
    const nonce = headerOf(request.headers, nonceHeader);
    const proof = nonce && access.prove(request.headers.cookie, nonce);
    const key = headerOf(request.headers, keyHeader);
    const session = access.find(request.headers.cookie, key);
    if (proof) sendJson(response, 200, proof);
    else if (session === undefined) {
      sendJson(response, 401, {
        code: "no-session",
        message: `This browser has no session. ${linkHint(info().kind)}.`,
      });
    } else if (!session.hasKey(key)) {
      const message = `This browser does not have its session key. ${linkHint(info().kind)}.`;
      sendJson(response, 403, { code: "no-key", message });
    } else if (request.method === "DELETE") {
      access.end(session);
      response.writeHead(204, { "cache-control": "no-store" }).end();
    } else sendJson(response, 200, { ...info(), rights: session.rights });
  };

  const sendPlain = async (request: EndpointRequest, response: EndpointResponse, path: string): Promise<void> => {
    const parsed = parseStatusPath(path);
    const session = sessionOf({ cookie: request.headers.cookie, key: parsed?.key });
    if (request.method !== "GET" || parsed === undefined || session === undefined) {
      return sendRefusal(response, info().kind);
    }
    const query = new URLSearchParams(request.url?.split("?", 2)[1]);
    const isServed = await plainPages?.({ path: parsed.rest, query, key: parsed.key, session }, response);
    if (isServed !== true) sendMessage(response, 404, "Page not found.");
  };

  const sendFile = (request: EndpointRequest, response: EndpointResponse, assets: Assets, path: string): void => {
    const asset = assets.get(isViewPath(path) || isUnknown(path) ? "/index.html" : path);
    if (asset === undefined) {
      const notBuilt = `This installation does not contain the page. Open the link that ${commandLine("page")} prints to see the status.`;
      sendMessage(response, 404, assets.size > 0 ? "Page not found." : notBuilt);
      return;
    }
    const { bytes, headers } = encodingOf(asset, headerOf(request.headers, "accept-encoding"));
    const cache = path.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-cache";
    response.writeHead(isUnknown(path) ? 404 : 200, {
      ...appHeaders,
      ...headers,
      "cache-control": cache,
      "content-length": bytes.length,
    });
    if (request.method === "HEAD") response.end();
    else response.end(bytes);
  };

  const serve = async (request: EndpointRequest, response: EndpointResponse, path: string): Promise<void> => {
    if (path === sessionPath) return sendSession(request, response);
    if (path.startsWith("/status/")) return sendPlain(request, response, path);
    if (request.method !== "GET" && request.method !== "HEAD") return sendMessage(response, 405, "Use GET.");
    if (path === appFramePath) {
      const query = new URLSearchParams(request.url?.split("?", 2)[1]);
      return void response.writeHead(200, appFrameHeaders(query)).end(appFrameDocument);
    }
    if (path === ticketScriptPath) {
      const headers = { ...appHeaders, "content-type": "text/javascript; charset=utf-8", "cache-control": "no-cache" };
      return void response.writeHead(200, headers).end(ticketScript);
    }
    reading ??= readAssets(folder);
    const assets = await reading;
    const hasApp = assets.size > 0;
    if (path === "/" && /[?&]ticket=/.test(request.url ?? "")) {
      return redeemTicket(request, response, { access, isSecure, kind: info().kind, hasApp });
    }
    // The page without JavaScript can be opened only with a link, even by a browser that has a session.
    if (path === "/status") return sendRefusal(response, info().kind);
    sendFile(request, response, assets, path);
  };

  return {
    admit,
    handle(request, response, path) {
      const wantsPage = headerOf(request.headers, "accept")?.includes("text/html") === true && isUnknown(path);
      if (!isPublicPagePath(path) && !wantsPage) return false;
      serve(request, response, path).catch((error: unknown) => {
        if (response.headersSent) response.destroy();
        else sendMessage(response, 500, error instanceof Error ? error.message : String(error));
      });
      return true;
    },
    sessionOf,
  };
}

const readOnly = "This link is read-only. Open an administrator link to call tools.";

function sendJson(response: EndpointResponse, status: number, body: object): void {
  const headers = {
    "content-type": "application/json",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  response.writeHead(status, headers).end(JSON.stringify(body));
}
