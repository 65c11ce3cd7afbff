import type { WebSocket } from "ws";
import type { Clock } from "../../clock.js";
import type { NetworkSocketInfo } from "../../connection-info.js";
import { publish } from "../../diagnostics.js";
import { ToolServerError } from "../../errors.js";
import { fixResponse } from "../rpc/message.js";
import { createJsonRpcStreams, type JsonRpcStreams } from "./json-rpc-streams.js";
import { sendWithCredential } from "./refusal.js";
import { createReplyQueue } from "./reply-queue.js";
import { statusFailure } from "./response-failures.js";
import { createStrayOutput } from "./stray-output.js";
import type { NetworkContext, ToolTransport } from "./transport.js";
import { connectionOver, createTransportLife, deliver } from "./transport-life.js";
import { brokenWebSocket, closedByServer, notTheProtocol, silentServer, unreadMessages } from "./websocket-failures.js";
import { subprotocol, upgrade } from "./websocket-upgrade.js";
import { createWriteBacklog } from "./write-backlog.js";

/** The time without data before a ping, and the time limit for the response, in milliseconds. */
const [pingIntervalMs, pongTimeoutMs] = [30_000, 10_000];

/** A ping gets no pong while more than this is waiting to be written, in bytes. */
const maxUnsentBytes = 64 * 1024;

/** A WebSocket from the upgrade on. */
interface OpenWebSocket {
  readonly webSocket: WebSocket;
  readonly socketInfo: NetworkSocketInfo;
  readonly streams: JsonRpcStreams;
  readonly keepAlive: KeepAlive;
  /** Resolves when it is closed. */
  readonly closed: Promise<void>;
}

const upgradeAdvice = "Check that the URL is a WebSocket endpoint; for an HTTP server, use the type http or sse.";

/**
 * Creates a transport over a WebSocket with the subprotocol `mcp`, one message per text frame. The headers of the credential are sent
 * with the upgrade request. `start` rejects with SERVER_UNREACHABLE, UNAUTHORIZED, FORBIDDEN, REDIRECT_REFUSED, SERVER_FAILED
 * or NOT_A_TOOL_SERVER. `send` resolves when the message is written.
 *
 * It fails with the error for the server's close code, usually CONNECTION_LOST; with MESSAGE_TOO_LARGE, even if the message is the response to
 * one request; and if the server does not respond to a ping or does not read.
 */
export function createWebSocketTransport(context: NetworkContext): ToolTransport {
  const { server, info, report, clock } = context;
  const life = createTransportLife(server);
  const cancelled = new AbortController();
  const strayOutput = createStrayOutput(context, "the WebSocket", "A tool server sends JSON-RPC and nothing else.");
  const replies = createReplyQueue(context, (failure) => fail(failure));
  const backlog = createWriteBacklog({
    server,
    clock,
    stallMs: context.limits.stallMs,
    waitingBytes: () => opened?.webSocket.bufferedAmount ?? 0,
    onStalled: () => fail(unreadMessages(context)),
  });
  let opened: OpenWebSocket | undefined;
  let starting: Promise<void> | undefined;

  /** Ends the transport; `onclose` follows when the socket is closed, or at once without a socket. */
  const end = (failure?: ToolServerError): void => {
    if (!life.end(failure)) return;
    replies.end();
    backlog.end();
    opened?.keepAlive.stop();
    opened?.streams.end();
    if (opened === undefined) transport.onclose?.();
  };
  const fail = (failure: ToolServerError, closeCode?: number): void => {
    end(failure);
    if (closeCode !== undefined) opened?.webSocket.close(closeCode);
    opened?.webSocket.terminate();
  };
  const onText = (text: string): void => {
    const messages = strayOutput.messagesIn(text);
    if (messages === undefined) {
      fail(notTheProtocol(context, "too much text that is not a message"), 1008);
      return;
    }
    for (const message of messages) {
      opened?.streams.received(message);
      deliver(transport, fixResponse(message));
    }
  };
  const follow = (webSocket: WebSocket, socketInfo: NetworkSocketInfo): void => {
    if (life.isOver) {
      webSocket.terminate();
      return;
    }
    const ping = (): void => {
      webSocket.ping();
      publish("socket:keep-alive-sent", socketInfo);
    };
    const keepAlive = startKeepAlive(clock, ping, () => fail(silentServer(context, pongTimeoutMs)));
    const closed = new Promise<void>((resolve) => {
      webSocket.on("close", (code, reason) => {
        end(closedByServer(context, code, reason));
        transport.onclose?.();
        resolve();
      });
    });
    opened = { webSocket, socketInfo, streams: createJsonRpcStreams(socketInfo), keepAlive, closed };
    webSocket.on("pong", keepAlive.onReceived);
    webSocket.on("ping", (data) => {
      keepAlive.onReceived();
      // RFC 6455, section 5.5.3, allows a pong for the latest ping only: a peer that does not read must not make pongs pile up.
      if (webSocket.bufferedAmount <= maxUnsentBytes) webSocket.pong(data);
    });
    webSocket.on("message", (data, isBinary) => {
      keepAlive.onReceived();
      if (life.isOver) return;
      if (isBinary) fail(notTheProtocol(context, "binary data"), 1003);
      else onText(String(data));
      const room = replies.room();
      if (room === undefined || webSocket.isPaused) return;
      webSocket.pause();
      void room.then(() => webSocket.resume());
    });
    webSocket.on("error", (error) => fail(brokenWebSocket(context, error)));
  };
  const connect = async (): Promise<void> => {
    const { signal } = cancelled;
    const { status, headers } = await sendWithCredential(
      context,
      (headers) => upgrade(context, { headers, signal, onOpen: follow }),
      { method: "GET", url: context.url, signal },
    );
    if (status !== 101) {
      const response = { status, headers, mediaType: headers["content-type"] ?? "", text: "" };
      throw statusFailure(context, response, "the upgrade to WebSocket at", upgradeAdvice);
    }
    if (headers["sec-websocket-protocol"] === undefined) {
      report(info, "warning", `The server did not select the subprotocol ${subprotocol}; continuing.`);
    }
  };
  const open = async (): Promise<void> => {
    try {
      await connect();
    } catch (error) {
      end(ToolServerError.is(error) ? error : brokenWebSocket(context, asError(error)));
    }
    // It may also have ended as soon as it was open.
    if (life.isOver) throw life.failure ?? connectionOver(server, undefined, false);
  };

  const transport: ToolTransport = {
    kind: "ws",
    strayOutput: () => strayOutput.describe(),
    get failure() {
      return life.failure;
    },
    async start() {
      life.begin();
      starting = open();
      await starting;
    },
    async send(message, options) {
      life.assertOpen();
      if (opened === undefined) throw new TypeError("The transport has not started yet.");
      const { webSocket, socketInfo, streams } = opened;
      if ("method" in message) backlog.assertRoom(message);
      const text = JSON.stringify(message);
      streams.sending(message);
      options?.onSending?.();
      options?.phases?.begin("server", socketInfo);
      const write = (): Promise<void> =>
        life.whileOpen((resolve) => {
          webSocket.send(text, (error) => {
            // Node reports no error if the socket was destroyed meanwhile; the end of the transport rejects.
            if (life.isOver || socketInfo.socket.destroyed) return;
            if (error == null) {
              backlog.written();
              streams.sent();
              resolve();
            } else {
              fail(brokenWebSocket(context, error));
            }
          });
        });
      await ("method" in message ? write() : replies.send(text.length, write));
    },
    async close() {
      end();
      cancelled.abort(connectionOver(server, undefined, false));
      await starting?.catch(() => {});
      opened?.webSocket.close(1000);
      await opened?.closed;
    },
  };
  return transport;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** Detects a dead peer. */
interface KeepAlive {
  /** Data was received from the peer. */
  onReceived(): void;
  stop(): void;
}

/** Calls `ping` if nothing was received for an interval, and `onDead` if nothing follows in time. */
function startKeepAlive(clock: Clock, ping: () => void, onDead: () => void): KeepAlive {
  let hasReceived = false;
  let isStopped = false;
  let stopTimer = (): void => {};
  const watch = (): void => {
    hasReceived = false;
    const onInterval = () => {
      if (hasReceived) return watch();
      ping();
      if (isStopped) return;
      stopTimer = clock.after(pongTimeoutMs, () => (hasReceived ? watch() : onDead()), true);
    };
    stopTimer = clock.after(pingIntervalMs, onInterval, true);
  };
  watch();
  return {
    onReceived() {
      hasReceived = true;
    },
    stop() {
      isStopped = true;
      stopTimer();
    },
  };
}
