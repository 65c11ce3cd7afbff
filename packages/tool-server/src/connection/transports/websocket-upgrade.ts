import type { IncomingMessage } from "node:http";
import type { ClientOptions, WebSocket } from "ws";
import type { HeaderFields } from "../../auth/credentials/header-fields.js";
import type { NetworkSocketInfo } from "../../connection-info.js";
import { ToolServerError } from "../../errors.js";
import type { ResponseHeaders } from "../../http/http-client.js";
import { printableText } from "../../printable-text.js";
import type { ResponseHead } from "./refusal.js";
import type { NetworkContext } from "./transport.js";

export const subprotocol = "mcp";

/** The time limit for the closing handshake. */
const closeTimeoutMs = 1000;

export interface UpgradeOptions {
  readonly headers: HeaderFields;
  readonly signal: AbortSignal;
  /** Called synchronously when it opens: a message may follow in the same read. */
  readonly onOpen: (webSocket: WebSocket, socketInfo: NetworkSocketInfo) => void;
}

/**
 * Opens a socket and requests the upgrade. Resolves with the response of any status: 101 if the WebSocket is open. Rejects with
 * SERVER_UNREACHABLE, with NOT_A_TOOL_SERVER if the response violates the protocol, and with the signal's reason.
 */
export async function upgrade(context: NetworkContext, options: UpgradeOptions): Promise<ResponseHead> {
  const { http, clock, limits, server } = context;
  const { headers, signal, onOpen } = options;
  // Loaded on demand, because few configurations have such a server.
  const { WebSocket } = await import("ws");
  signal.throwIfAborted();
  // A fragment is never sent.
  const url = new URL(context.url);
  url.hash = "";
  const socketInfo = await http.openSocket(url, { signal });
  const { socket } = socketInfo;
  if (signal.aborted) {
    socket.destroy();
    throw signal.reason;
  }
  const settings: ClientOptions & { readonly closeTimeout: number } = {
    // Instead of an agent, so that the socket is the one that is published.
    createConnection: () => socket,
    headers: { ...headers },
    followRedirects: false,
    perMessageDeflate: false,
    // The transport responds to pings itself, and limits the number of waiting pongs.
    autoPong: false,
    maxPayload: limits.messageBytes,
    closeTimeout: closeTimeoutMs,
  };
  const webSocket = new WebSocket(url, [subprotocol], settings);
  let received: ResponseHeaders = {};
  let onAbort = (): void => {};
  let stopTimer = (): void => {};
  try {
    return await new Promise<ResponseHead>((resolve, reject) => {
      onAbort = () => reject(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
      stopTimer = clock.after(limits.connectMs, () => reject(tooSlow(server, limits.connectMs)));
      webSocket.on("error", (error) => reject(upgradeFailure(context, error)));
      webSocket.on("upgrade", (response) => {
        received = headersOf(response);
        // RFC 6455 allows a server to choose none, and many do; `ws` would reject that.
        response.headers["sec-websocket-protocol"] ??= subprotocol;
      });
      webSocket.on("open", () => {
        // The process may exit while no call is in flight: each call has a timer.
        socket.unref();
        onOpen(webSocket, socketInfo);
        resolve({ status: 101, headers: received });
      });
      webSocket.on("unexpected-response", (_request, response) => {
        resolve({ status: response.statusCode ?? 0, headers: headersOf(response) });
      });
    });
  } finally {
    stopTimer();
    signal.removeEventListener("abort", onAbort);
    if (webSocket.readyState !== WebSocket.OPEN) {
      webSocket.terminate();
      socket.destroy();
    }
  }
}

function tooSlow(server: string, limitMs: number): ToolServerError {
  const problem = `The server ${JSON.stringify(server)} did not respond to the upgrade to WebSocket within ${limitMs} ms.`;
  const advice = "Check that the URL is a WebSocket endpoint, and that no proxy in between delays it.";
  return new ToolServerError("SERVER_UNREACHABLE", { problem, advice }, { details: { wasSent: false } });
}

function upgradeFailure({ server, secrets }: NetworkContext, error: Error): ToolServerError {
  const subject = `The server ${JSON.stringify(server)}`;
  const code = "code" in error ? String(error.code) : "";
  const details = { wasSent: false };
  if (/^E[A-Z]+$/.test(code)) {
    const problem = `${subject} ended the connection before it responded to the upgrade to WebSocket (${code}).`;
    const advice = "Check that the URL is a WebSocket endpoint.";
    return new ToolServerError("SERVER_UNREACHABLE", { problem, advice }, { cause: error, details });
  }
  const why = printableText(secrets.redact(error.message), 200);
  const problem = `${subject} sent an invalid response to the upgrade to WebSocket: ${why}.`;
  return new ToolServerError("NOT_A_TOOL_SERVER", { problem, advice: "Check the URL." }, { cause: error, details });
}

function headersOf({ headers }: IncomingMessage): ResponseHeaders {
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(", ") : (value ?? ""),
  ]);
  return Object.fromEntries(entries);
}
