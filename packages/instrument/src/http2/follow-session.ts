import { type EventEmitter, errorMonitor } from "node:events";
import type { ClientHttp2Session, Http2Stream, IncomingHttpHeaders } from "node:http2";
import type { ChannelHandle, Registry } from "@wirescope/channelz";
import { causeOf } from "../cause.js";
import type { Connectivity } from "../connectivity.js";
import { EventCoalescer } from "../event-coalescer.js";
import { guardNode } from "../guard-listener.js";
import { markObserved, stopObserving } from "../observation.js";
import { readEndpoints } from "../sockets/addresses.js";
import { describeHttp2Session } from "./describe-session.js";
import { errorCodeName } from "./error-codes.js";
import { trackStream } from "./patch-streams.js";
import { addressOfTarget, type SessionTarget } from "./session-target.js";
import { type SessionTracker, sessionConnected, trackSession, untrackSession } from "./session-tracker.js";
import type { StreamCounters } from "./stream-tracker.js";

/** How a client session is shown. */
export interface FollowedSession extends SessionTarget {
  /** The parent channel. */
  readonly channel: ChannelHandle;
  /** Whether its streams count as calls of the channel. False if another instrument counts the calls. */
  readonly countsCalls: boolean;
  /** Sets the channel's state from the session's; undefined if another instrument does. */
  readonly connectivity: Connectivity | undefined;
  /** Called with the reason when the session is no longer shown. */
  readonly onEnded?: (why: string) => void;
}

/** Shows a client session under a channel, from now until it closes: a subchannel, its socket, and all calls. */
export function followSession(registry: Registry, session: ClientHttp2Session, followed: FollowedSession): void {
  stopObserving(session, "observed again");
  const { channel, target, path, connectivity } = followed;
  const subchannel = registry.addSubchannel({ parent: channel, target: addressOfTarget(target) });
  const tracker: SessionTracker = {
    isClient: true,
    arePushed: false,
    socket: undefined,
    calls: followed.countsCalls ? [channel, subchannel] : [subchannel],
    resets: new EventCoalescer(subchannel, "Stream reset"),
    openStreams: 0,
    early: [],
    onFailed(error) {
      onError(error);
      // Node never emits "close" for some destroyed sessions, such as one whose certificate TLS 1.3 rejects. Deferred,
      // because the GOAWAY that causes an error is reported after the error.
      setImmediate(onClose).unref();
    },
  };
  trackSession(session, tracker);
  subchannel.setState("CONNECTING");
  connectivity?.begin();
  let isConnected = false;
  /** Whether the session counts as a connection: from the settings of the peer to its GOAWAY. */
  let isReady = false;
  let hasReceivedGoaway = false;
  let isDraining = false;
  let cause: string | undefined;
  let reason = "";

  const onConnect = guardNode((): void => {
    const endpoints = readEndpoints(session.socket, { target, path });
    const socket = registry.addSocket({
      ...endpoints,
      parent: subchannel,
      subject: session,
      describe: describeHttp2Session,
    });
    isConnected = true;
    // Before Node's own listener, which ends the streams.
    session.socket.prependListener("close", onSocketClose);
    sessionConnected(tracker, socket);
  });
  // HTTP/2 begins with the settings of each side: a peer that accepts a connection may not speak it, or hang.
  const onReady = guardNode((): void => {
    if (isReady || hasReceivedGoaway) return;
    isReady = true;
    subchannel.setState("READY");
    connectivity?.succeed();
  });
  let pushes: StreamCounters | undefined;
  // A server push is a stream started by the peer, but not a call.
  const onStream = (stream: Http2Stream, headers: IncomingHttpHeaders): void => {
    pushes ??= { ...tracker, calls: [], arePushed: true };
    trackStream(stream, pushes, headers);
  };
  const onGoaway = guardNode((code: number): void => {
    hasReceivedGoaway = true;
    reason = `GOAWAY with ${errorCodeName(code)}`;
    subchannel.trace(reason, { severity: code === 0 ? "info" : "warning" });
    // Calls in flight continue, but the next one needs another connection. With another code, Node destroys the session.
    if (code !== 0 || !isReady) return;
    isReady = false;
    isDraining = true;
    subchannel.setState("IDLE");
    connectivity?.end();
  });
  const onError = guardNode((error: Error): void => {
    reason = causeOf(error);
    if (isCancel(error)) return;
    cause = reason;
    if (isDraining) subchannel.trace(`Connection failed: ${cause}`, { severity: "warning" });
    else subchannel.setState("TRANSIENT_FAILURE", cause);
  });
  // A reset can look like an orderly end: if a write fails first, Node drops its error, and the next read returns end of file.
  const onSocketClose = (): void => {
    if (session.destroyed || hasReceivedGoaway || tracker.openStreams === 0) return;
    onError(new Error("closed with calls in flight"));
  };
  const onClose = guardNode((): void => {
    stopObserving(session, reason);
  });
  const stopAttempts = traceAttempts(session, channel);
  if (session.connecting) {
    session.prependOnceListener("connect", onConnect);
    session.prependOnceListener("remoteSettings", onReady);
  } else if (!session.destroyed) {
    onConnect();
    // Its settings may be there already.
    onReady();
  }
  session.prependListener("stream", onStream);
  session.on("goaway", onGoaway);
  // errorMonitor: the application's own error handling does not change.
  session.on(errorMonitor, onError);
  session.once("close", onClose);
  markObserved(session, (why) => {
    session.off("connect", onConnect);
    session.off("remoteSettings", onReady);
    session.off("stream", onStream);
    session.off("goaway", onGoaway);
    session.off(errorMonitor, onError);
    session.off("close", onClose);
    if (isConnected && !session.destroyed) session.socket.off("close", onSocketClose);
    stopAttempts();
    untrackSession(session);
    tracker.socket?.close(why);
    subchannel.close(why);
    if (isReady) connectivity?.end(cause);
    else if (!isDraining) connectivity?.fail(cause);
    followed.onEnded?.(why);
  });
}

/** Traces connection attempts and their failures. Returns a function that stops it. */
function traceAttempts(session: ClientHttp2Session, channel: ChannelHandle): () => void {
  if (!session.connecting || session.destroyed) return () => {};
  const socket: EventEmitter = session.socket;
  const onAttempt = guardNode((ip: string, port: number): void => channel.trace(`Connecting to ${ip} port ${port}`));
  const onFailed = guardNode((ip: string, port: number, _family: number, error: Error): void => {
    channel.trace(`Connecting to ${ip} port ${port} failed: ${causeOf(error)}`, { severity: "warning" });
  });
  socket.on("connectionAttempt", onAttempt);
  socket.on("connectionAttemptFailed", onFailed);
  return () => {
    // The socket of a destroyed session is inaccessible.
    if (session.destroyed) return;
    socket.off("connectionAttempt", onAttempt);
    socket.off("connectionAttemptFailed", onFailed);
  };
}

/** Connect destroys sessions that it no longer needs with a Canceled error, which is not a failure. */
function isCancel(error: Error & { readonly code?: unknown }): boolean {
  return error.name === "ConnectError" && error.code === 1;
}
