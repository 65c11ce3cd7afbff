import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { GatewaySignIn } from "@wirescope/gateway";
import type { Gateway } from "@wirescope/gateway/internal";
import {
  createPageAccess,
  parseStatusPath,
  redeemTicket,
  sendMessage,
  sendRefusal,
  ticketPath,
} from "@wirescope/gateway/internal/page";
import { hasBrowser, openBrowser } from "@wirescope/tool-server/internal";
import type { Io } from "../../io.js";
import type { OptionValues } from "../../options.js";
import type { upOptions } from "../up-options.js";
import { sendSignInPage, signInPath, signInPathOf } from "./sign-in-page.js";

/** Links that start a sign-in, for the errors of calls. They give access to no other page. */
interface SignInLinks {
  /** A link that works once, for 10 minutes, on this machine. */
  linkTo(server: string): Promise<string>;
  close(): void;
}

/** Serves the links on a separate port, opened with the first link, because a stdio gateway does not listen. */
export function createSignInLinks(gateway: () => Gateway): SignInLinks {
  const access = createPageAccess();
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    // Not parsed as a URL: any web page can send an invalid one here, such as //.
    const [path = "", query] = (request.url ?? "").split("?", 2);
    const parsed = parseStatusPath(path);
    const session = access.find(request.headers.cookie, parsed?.key);
    if (path === ticketPath)
      redeemTicket(request, response, { access, isSecure: false, kind: "gateway", hasApp: false });
    else if (parsed?.rest !== signInPath) sendMessage(response, 404, "Page not found.");
    else if (request.method !== "GET" || session?.hasKey(parsed.key) !== true) sendRefusal(response);
    else {
      const signingIn = { query: new URLSearchParams(query), key: parsed.key, session };
      sendSignInPage(gateway(), signingIn, response).catch((error: unknown) => {
        if (response.headersSent) response.destroy();
        else sendMessage(response, 500, error instanceof Error ? error.message : String(error));
      });
    }
  };
  let server: Server | undefined;
  let origin: Promise<string> | undefined;
  const listen = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const listener = createServer((request, response) => {
        // Any other Host name is a DNS rebinding attempt by a page that tries to read ours.
        if (request.headers.host !== hostOf(listener)) sendMessage(response, 403, "This host is not served here.");
        else serve(request, response);
      });
      server = listener;
      listener.once("error", reject).listen(0, "127.0.0.1", () => resolve(`http://${hostOf(listener)}`));
      listener.unref();
    });
  return {
    async linkTo(name) {
      origin ??= listen();
      return access.linkTo(await origin, { path: (key) => signInPathOf(key, name) });
    },
    close() {
      server?.close();
      server?.closeAllConnections();
    },
  };
}

function hostOf(server: Server): string {
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/**
 * How a user signs in when a call requires it; undefined if calls may come from other machines or users. The browser opens if a user is
 * present: at the terminal, or at the client that started the gateway.
 */
export function signInForCalls(
  values: OptionValues<typeof upOptions>,
  io: Io,
  linkTo: (server: string) => Promise<string>,
): GatewaySignIn | undefined {
  const { host = "127.0.0.1", "allow-host": names, "allow-origin": origins } = values;
  const isLocal = /^(?:localhost|::1|127(?:\.\d+){3})$/.test(host) && names.length === 0 && origins.length === 0;
  if (!isLocal) return undefined;
  const isAttended = values.stdio || io.stdout.isTTY === true || io.stderr.isTTY === true;
  const opensBrowser = isAttended && !values["no-browser"] && hasBrowser(io);
  return { linkTo, ...(opensBrowser && { openBrowser: (url: string) => openBrowser(url, io) }) };
}
