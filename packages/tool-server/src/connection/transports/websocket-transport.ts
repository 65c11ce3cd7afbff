import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { Clock } from "../../clock.js";
import type { SocketInfo } from "../../connection-info.js";
import { publish } from "../../diagnostics.js";
import { ToolServerError } from "../../errors.js";
import { socketInfoOf } from "../../http/http-connection.js";
import type { Excerpt } from "../../skipped-bytes.js";
import { fixResponse } from "../rpc/message.js";
import { createJsonRpcStreams, type JsonRpcStreams } from "./json-rpc-streams.js";
import { failOversized } from "./oversized-response.js";
import { sendWithCredential } from "./refusal.js";
import { createReplyQueue, repliesNotAccepted } from "./reply-queue.js";
import { responseFailure } from "./response-failure.js";
import { createStrayOutput } from "./stray-output.js";
import type { NetworkContext, ToolTransport } from "./transport.js";
import { connectionOver, createTransportLife, deliver } from "./transport-life.js";
import {
  brokenWebSocket,
  closedByServer,
  notTheProtocol,
  oversizedMessage,
  silentServer,
} from "./websocket-failures.js";
import { subprotocol, upgrade } from "./websocket-upgrade.js";

export interface WebSocketOptions {
  /** When to ping a server that sends nothing. */
  readonly keepAlive?: KeepAliveTimes;
}

/** A ping gets no pong while more than this is waiting to be written, in bytes. */
const maxUnsentBytes = 64 * 1024;

const upgradeAdvice = "Check that the URL is a WebSocket endpoint; for an HTTP server, use the type http or sse.";

/**
 * Creates a transport over a WebSocket with the subprotocol `mcp`, one message per text frame. The headers of the credential are sent
 * with the upgrade request. `start` rejects with SERVER_UNREACHABLE, UNAUTHORIZED, FORBIDDEN, REDIRECT_REFUSED, SERVER_FAILED
 * or NOT_A_TOOL_SERVER. `send` resolves when the message is written.
 *
 * It fails with the error for the server's close code, usually CONNECTION_LOST, and if the server does not respond to a ping.
 */
export function createWebSocketTransport(context: NetworkContext, options: WebSocketOptions = {}): ToolTransport {
  const { server, info, report, clock, limits } = context;
  const { keepAlive: times = defaultKeepAlive } = options;
  const life = createTransportLife(server);
  const cancelled = new AbortController();
  const strayOutput = createStrayOutput(context, "the WebSocket", "A tool server sends JSON-RPC and nothing else.");
  const replies = createReplyQueue({
    clock,
    stallMs: limits.stallMs,
    onStalled: () => giveUp(repliesNotAccepted(server, limits.stallMs)),
  });
  let webSocket: WebSocket | undefined;
  let socket: Socket | undefined;
  let socketInfo: SocketInfo | undefined;
  let streams: JsonRpcStreams | undefined;
  let keepAlive: KeepAlive | undefined;
  let starting: Promise<void> | undefined;
  let closed: Promise<void> | undefined;

  /** Ends the transport; `onclose` follows when the socket is closed, or at once without a socket. */
  const end = (failure?: ToolServerError): void => {
    if (!life.end(failure)) return;
    keepAlive?.stop();
    replies.end();
    streams?.end();
    if (webSocket === undefined) transport.onclose?.();
  };
  const giveUp = (failure: ToolServerError, closeCode?: number): void => {
    end(failure);
    if (closeCode !== undefined) webSocket?.close(closeCode);
    webSocket?.terminate();
  };
  const onText = (text: string): void => {
    const messages = strayOutput.messagesIn(text);
    if (messages === undefined) {
      giveUp(notTheProtocol(context, "too much text that is not a message"), 1008);
      return;
    }
    for (const message of messages) {
      streams?.received(message);
      deliver(transport, fixResponse(message));
    }
  };
  /** Fails the request whose response is too large. If that is not known, the transport fails. */
  const onSkipped = (message: Excerpt): void => {
    if (life.isOver) return;
    keepAlive?.onReceived();
    const id = failOversized(context, transport, message);
    if (id === undefined) giveUp(oversizedMessage(context), 1009);
    else streams?.received({ jsonrpc: "2.0", id, result: {} });
  };
  const follow = (opened: WebSocket, below: Socket): void => {
    if (life.isOver) {
      opened.terminate();
      return;
    }
    webSocket = opened;
    socket = below;
    socketInfo = socketInfoOf(below);
    if (socketInfo !== undefined) streams = createJsonRpcStreams(socketInfo);
    const watching = startKeepAlive(
      clock,
      times,
      () => {
        opened.ping();
        if (socketInfo !== undefined) publish("socket:keep-alive-sent", socketInfo);
      },
      () => giveUp(silentServer(context, times.timeoutMs)),
    );
    keepAlive = watching;
    opened.on("pong", watching.onReceived);
    opened.on("ping", (data) => {
      watching.onReceived();
      // RFC 6455, section 5.5.3, allows a pong for the latest ping only: a peer that does not read must not make pongs pile up.
      if (opened.bufferedAmount <= maxUnsentBytes) opened.pong(data);
    });
    opened.on("message", (data, isBinary) => {
      watching.onReceived();
      if (life.isOver) return;
      if (isBinary) giveUp(notTheProtocol(context, "binary data"), 1003);
      else onText(String(data));
      const room = replies.room();
      if (room === undefined || opened.isPaused) return;
      opened.pause();
      void room.then(() => opened.resume());
    });
    opened.on("error", (error) => giveUp(brokenWebSocket(context, error)));
    closed = new Promise((resolve) => {
      opened.on("close", (code, reason) => {
        end(closedByServer(context, code, reason));
        transport.onclose?.();
        resolve();
      });
    });
  };
  const connect = async (): Promise<void> => {
    const { signal } = cancelled;
    const response = await sendWithCredential(
      context,
      (headers) => upgrade(context, { headers, signal, onOpen: follow, onSkipped }),
      { method: "GET", url: context.url, signal },
    );
    if (response.status !== 101) {
      throw responseFailure(context, { ...response, request: "the upgrade to WebSocket", advice: upgradeAdvice });
    }
    if (response.headers["sec-websocket-protocol"] === undefined) {
      report(info, "warning", `The server did not select the subprotocol ${subprotocol}; continuing.`);
    }
  };
  const open = async (): Promise<void> => {
    life.begin();
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
    start() {
      const opening = open();
      starting ??= opening;
      return opening;
    },
    async send(message, options) {
      life.assertOpen();
      const opened = webSocket;
      if (opened === undefined) throw new TypeError("The transport has not started yet.");
      const text = JSON.stringify(message);
      streams?.sending(message);
      options?.phases?.begin("server", socketInfo);
      const write = (): Promise<void> =>
        life.whileOpen((resolve) => {
          opened.send(text, (error) => {
            // Node reports no error if the socket was destroyed meanwhile; the end of the transport rejects.
            if (life.isOver || socket?.destroyed) return;
            if (error == null) {
              streams?.sent();
              resolve();
            } else {
              giveUp(brokenWebSocket(context, error));
            }
          });
        });
      await ("method" in message ? write() : replies.send(text.length, write));
    },
    async close() {
      end();
      cancelled.abort(connectionOver(server, undefined, false));
      await starting?.catch(() => {});
      webSocket?.close(1000);
      await closed;
    },
  };
  return transport;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** When to ping a peer. */
interface KeepAliveTimes {
  /** The time without data before a ping, in milliseconds. Default 30,000. */
  readonly intervalMs: number;
  /** The time limit for the response, in milliseconds. Default 10,000. */
  readonly timeoutMs: number;
}

const defaultKeepAlive: KeepAliveTimes = { intervalMs: 30_000, timeoutMs: 10_000 };

/** Detects a dead peer. */
interface KeepAlive {
  /** Data was received from the peer. */
  onReceived(): void;
  stop(): void;
}

/** Calls `ping` if nothing was received for the interval, and `onDead` if nothing follows in time. */
function startKeepAlive(clock: Clock, times: KeepAliveTimes, ping: () => void, onDead: () => void): KeepAlive {
  let hasReceived = false;
  let isStopped = false;
  let cancel = (): void => {};
  const watch = (): void => {
    hasReceived = false;
    cancel = clock.after(times.intervalMs, () => {
      if (hasReceived) return watch();
      ping();
      if (isStopped) return;
      cancel = clock.after(times.timeoutMs, () => (hasReceived ? watch() : onDead()));
    });
  };
  watch();
  return {
    onReceived() {
      hasReceived = true;
    },
    stop() {
      isStopped = true;
      cancel();
    },
  };
}
