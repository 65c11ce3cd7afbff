import { errorMonitor } from "node:events";
import type { ServerHttp2Session } from "node:http2";
import type { Registry, ServerHandle } from "@wirescope/channelz";
import { codeOf } from "../cause.js";
import { EventCoalescer } from "../event-coalescer.js";
import { guardNode } from "../guard-listener.js";
import type { IsCall } from "../http/server-connection.js";
import { isObserved, markObserved, stopObserving } from "../observation.js";
import { readEndpoints } from "../sockets/addresses.js";
import { describeHttp2Session } from "./describe-session.js";
import { errorCodeName } from "./error-codes.js";
import { type SessionTracker, trackSession, untrackSession } from "./session-tracker.js";
import type { StreamCounters } from "./stream-tracker.js";

/** Shows a server session, from now until it closes. */
export function observeServerSession(
  registry: Registry,
  session: ServerHttp2Session,
  server: ServerHandle,
  isCall?: IsCall,
): void {
  // The application may have closed the handle itself.
  if (server.isClosed || isObserved(session) || session.destroyed) return;
  const endpoints = readEndpoints(session.socket);
  const socket = registry.addSocket({ ...endpoints, server, subject: session, describe: describeHttp2Session });
  const events = eventsOf(server);
  let isReported = false;
  let hasReceivedGoaway = false;
  const reportGoaway = guardNode((code: number): void => {
    if (!hasReceivedGoaway) events.goawaySent(code);
  });
  const tracker: SessionTracker = {
    isClient: false,
    arePushed: false,
    socket,
    calls: [server],
    resets: events.resets,
    openStreams: 0,
    early: [],
    onGoawaySent(code) {
      isReported ||= code !== 0;
      // Node replies to a client's GOAWAY before it emits the event.
      process.nextTick(reportGoaway, code);
    },
  };
  // Streams that are no calls; nor are their resets failures of the server.
  const apart: StreamCounters = { ...tracker, calls: [], resets: noEvents };
  tracker.countersOf = (headers) =>
    isCall?.(headers, headers[":method"], headers[":path"]) === false ? apart : tracker;
  trackSession(session, tracker);
  const onGoaway = guardNode((code: number): void => {
    hasReceivedGoaway = true;
    isReported ||= code !== 0;
    events.goawayReceived(code);
  });
  const onError = guardNode((error: Error & { readonly code?: string }): void => {
    // Node turns a GOAWAY with an error code into an error.
    if (!isReported) events.losses.add(error.code === "ERR_HTTP2_ERROR" ? error.message : codeOf(error));
    isReported = true;
  });
  const onSocketClose = guardNode((): void => {
    if (tracker.openStreams > 0) events.losses.add("closed with calls in progress");
  });
  const onClose = guardNode((): void => void stopObserving(session, ""));
  session.on("goaway", onGoaway);
  // errorMonitor: the application's own error handling does not change.
  session.on(errorMonitor, onError);
  // Before Node's own listener, which ends the streams.
  session.socket.prependListener("close", onSocketClose);
  session.on("close", onClose);
  markObserved(session, (why) => {
    session.off("goaway", onGoaway);
    session.off(errorMonitor, onError);
    session.off("close", onClose);
    if (!session.destroyed) session.socket.off("close", onSocketClose);
    untrackSession(session);
    socket.close(why);
  });
}

const noEvents: Pick<EventCoalescer, "add"> = { add() {} };

/** The trace events of all sessions of a server, coalesced: a burst may come from one session or from thousands. */
class ServerEvents {
  readonly resets: EventCoalescer;
  readonly losses: EventCoalescer;
  readonly #closings: EventCoalescer;
  readonly #errorsSent: EventCoalescer;
  readonly #errorsReceived: EventCoalescer;

  constructor(server: ServerHandle) {
    this.resets = new EventCoalescer(server, "Stream reset");
    this.losses = new EventCoalescer(server, "Connection lost");
    this.#closings = new EventCoalescer(server, "GOAWAY sent", "info");
    this.#errorsSent = new EventCoalescer(server, "GOAWAY sent");
    this.#errorsReceived = new EventCoalescer(server, "GOAWAY received");
  }

  goawaySent(code: number): void {
    (code === 0 ? this.#closings : this.#errorsSent).add(errorCodeName(code));
  }

  /** Clients that close properly also send GOAWAY, which is not reported. */
  goawayReceived(code: number): void {
    if (code !== 0) this.#errorsReceived.add(errorCodeName(code));
  }
}

const known = new WeakMap<ServerHandle, ServerEvents>();

function eventsOf(server: ServerHandle): ServerEvents {
  let events = known.get(server);
  if (events === undefined) {
    events = new ServerEvents(server);
    known.set(server, events);
  }
  return events;
}
