import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { ClientOptions, WebSocket } from "ws";
import type { HeaderFields } from "../../auth/credentials/header-fields.js";
import { ToolServerError } from "../../errors.js";
import type { ResponseHeaders } from "../../http/http-client.js";
import { printableText } from "../../printable-text.js";
import type { NetworkContext } from "./transport.js";

/** The subprotocol that is offered. */
export const subprotocol = "mcp";

/** How long the closing handshake may take. */
const closeTimeoutMs = 1000;

/** What the server answered the upgrade with: 101 where there is a WebSocket now. */
export interface UpgradeAnswer {
  readonly status: number;
  readonly headers: ResponseHeaders;
}

export interface UpgradeOptions {
  readonly headers: HeaderFields;
  readonly signal: AbortSignal;
  /** Called at once when it is open: a message may follow in the same breath. */
  readonly onOpen: (webSocket: WebSocket, socket: Socket) => void;
}

/**
 * Opens a socket and asks for the upgrade. Resolves with the response, whatever its status. Rejects with SERVER_UNREACHABLE,
 * with NOT_A_TOOL_SERVER where the response breaks the rules, and with the signal's reason.
 */
export async function upgrade(context: NetworkContext, options: UpgradeOptions): Promise<UpgradeAnswer> {
  const { http, clock, limits, server } = context;
  const { headers, signal, onOpen } = options;
  // Few have such a server, and the others need not load what speaks to it.
  const { WebSocket } = await import("ws");
  signal.throwIfAborted();
  // A fragment is for this side alone.
  const url = new URL(context.url);
  url.hash = "";
  const socket = await http.openSocket(url, { signal });
  if (signal.aborted) {
    socket.destroy();
    throw signal.reason;
  }
  const settings: ClientOptions & { readonly closeTimeout: number } = {
    // A function of ours takes the place of an agent, so that the socket is the one that is seen.
    createConnection: () => socket,
    headers: { ...headers },
    followRedirects: false,
    perMessageDeflate: false,
    // The transport responses pings itself, and bounds how many responses wait.
    autoPong: false,
    maxPayload: limits.messageBytes,
    closeTimeout: closeTimeoutMs,
  };
  const webSocket = new WebSocket(url, [subprotocol], settings);
  let answered: UpgradeAnswer | undefined;
  let onAbort = (): void => {};
  let cancel = (): void => {};
  try {
    return await new Promise<UpgradeAnswer>((resolve, reject) => {
      onAbort = () => reject(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
      cancel = clock.after(limits.connectMs, () => reject(tooSlow(server, limits.connectMs)));
      webSocket.on("error", (error) => reject(upgradeFailure(context, error)));
      webSocket.on("upgrade", (response) => {
        answered = { status: 101, headers: headersOf(response) };
        // RFC 6455 lets a server choose none, and many do; `ws` would refuse.
        response.headers["sec-websocket-protocol"] ??= subprotocol;
      });
      webSocket.on("open", () => {
        onOpen(webSocket, socket);
        resolve(answered ?? { status: 101, headers: {} });
      });
      webSocket.on("unexpected-response", (_request, response) => {
        resolve({ status: response.statusCode ?? 0, headers: headersOf(response) });
      });
    });
  } finally {
    cancel();
    signal.removeEventListener("abort", onAbort);
    if (webSocket.readyState !== WebSocket.OPEN) {
      webSocket.terminate();
      socket.destroy();
    }
  }
}

function tooSlow(server: string, limitMs: number): ToolServerError {
  const problem = `The server ${JSON.stringify(server)} did not respond to the upgrade to WebSocket within ${limitMs} ms.`;
  const advice = "Check that the url is one of a WebSocket, and that no proxy on the way holds it up.";
  return new ToolServerError("SERVER_UNREACHABLE", { problem, advice }, { details: { wasSent: false } });
}

function upgradeFailure({ server, secrets }: NetworkContext, error: Error): ToolServerError {
  const subject = `The server ${JSON.stringify(server)}`;
  const code = "code" in error ? String(error.code) : "";
  const details = { wasSent: false };
  if (/^E[A-Z]+$/.test(code)) {
    const problem = `${subject} ended the connection before it responded to the upgrade to WebSocket (${code}).`;
    const advice = "Check that the url is one of a WebSocket.";
    return new ToolServerError("SERVER_UNREACHABLE", { problem, advice }, { cause: error, details });
  }
  const why = printableText(secrets.redact(error.message), 200);
  const problem = `${subject} responded to the upgrade with what is not WebSocket: ${why}.`;
  return new ToolServerError("NOT_A_TOOL_SERVER", { problem, advice: "Check the url." }, { cause: error, details });
}

function headersOf({ headers }: IncomingMessage): ResponseHeaders {
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(", ") : (value ?? ""),
  ]);
  return Object.fromEntries(entries);
}
