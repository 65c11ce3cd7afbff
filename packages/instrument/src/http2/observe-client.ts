import { errorMonitor } from "node:events";
import type { ClientHttp2Session, Http2Stream, IncomingHttpHeaders } from "node:http2";
import type { ChannelHandle, Registry } from "@wirescope/channelz";
import { noteObserved, stopObserving } from "../observation.js";
import { readEndpoints } from "../sockets/addresses.js";
import { describeHttp2Session } from "./describe-session.js";
import { errorCodeName } from "./error-codes.js";
import { trackStream } from "./patch-streams.js";
import { ResetFolder } from "./reset-folder.js";
import { type SessionTracker, sessionConnected, trackSession, untrackSession } from "./session-tracker.js";

export interface ObserveSessionOptions {
  /** The channel that the session serves. Default: one of its own, which closes with it. */
  readonly channel?: ChannelHandle;
  /** What the session was asked to connect to. Default: the session's origin, once it is known. */
  readonly target?: string;
  /** The path of the Unix socket that it connects to, which Node does not tell of a client. */
  readonly path?: string | undefined;
}

/**
 * Shows a client's session of HTTP/2 in the registry, from now until it closes: a channel, a subchannel for the
 * connection, its socket, and all calls.
 */
export function observeHttp2Session(
  registry: Registry,
  session: ClientHttp2Session,
  options: ObserveSessionOptions = {},
): ChannelHandle {
  stopObserving(session, "observed anew");
  const target = options.target ?? "";
  const isOwnChannel = options.channel === undefined;
  const channel = options.channel ?? registry.addChannel({ target });
  const subchannel = registry.addSubchannel({ parent: channel, target });
  const tracker: SessionTracker = {
    isClient: true,
    socket: undefined,
    // Calls of a channel that somebody else owns are counted by the owner, who knows what a call is.
    calls: isOwnChannel ? [channel, subchannel] : [subchannel],
    resets: new ResetFolder(subchannel),
    early: [],
  };
  trackSession(session, tracker);
  const setState: ChannelHandle["setState"] = (state, cause) => {
    subchannel.setState(state, cause);
    if (isOwnChannel) channel.setState(state, cause);
  };
  setState("CONNECTING");

  const onConnect = (): void => {
    const endpoints = readEndpoints(session.socket, { target, path: options.path });
    const socket = registry.addSocket({
      ...endpoints,
      parent: subchannel,
      subject: session,
      describe: describeHttp2Session,
    });
    setState("READY");
    sessionConnected(tracker, socket);
  };
  // What the other side pushes is a stream that it began, and no call.
  const onStream = (stream: Http2Stream, headers: IncomingHttpHeaders): void => {
    const { socket, resets } = tracker;
    trackStream(stream, { socket, resets, calls: [], isClient: true, isPushed: true }, headers["content-type"]);
  };
  let reason = "";
  const onGoaway = (code: number): void => {
    reason = `GOAWAY with ${errorCodeName(code)}`;
    subchannel.trace(reason, { severity: code === 0 ? "info" : "warning" });
  };
  const onError = (error: Error): void => {
    reason = error.message;
    setState("TRANSIENT_FAILURE", reason);
  };
  if (session.connecting) session.prependOnceListener("connect", onConnect);
  else if (!session.destroyed) onConnect();
  session.prependListener("stream", onStream);
  session.on("goaway", onGoaway);
  // Heard without being handled: what the application does about errors stays its own affair.
  session.on(errorMonitor, onError);
  session.once("close", () => stopObserving(session, reason));
  noteObserved(session, (why) => {
    session.off("connect", onConnect);
    session.off("stream", onStream);
    session.off("goaway", onGoaway);
    session.off(errorMonitor, onError);
    untrackSession(session);
    tracker.socket?.close(why);
    subchannel.close(why);
    if (isOwnChannel) channel.close(why);
  });
  return channel;
}
