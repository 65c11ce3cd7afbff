import { errorMonitor } from "node:events";
import type { ServerHttp2Session } from "node:http2";
import type { Registry, ServerHandle } from "@wirescope/channelz";
import { codeOf } from "../cause.js";
import { EventFolder } from "../event-folder.js";
import { isObserved, noteObserved, stopObserving } from "../observation.js";
import { readEndpoints } from "../sockets/addresses.js";
import { describeHttp2Session } from "./describe-session.js";
import { errorCodeName } from "./error-codes.js";
import { type SessionTracker, trackSession, untrackSession } from "./session-tracker.js";

/** Shows one session of a server, from now until it closes. */
export function observeServerSession(registry: Registry, session: ServerHttp2Session, server: ServerHandle): void {
  // The application may have closed the handle itself.
  if (server.isClosed || isObserved(session) || session.destroyed) return;
  const endpoints = readEndpoints(session.socket);
  const socket = registry.addSocket({ ...endpoints, server, subject: session, describe: describeHttp2Session });
  const events = eventsOf(server);
  let isReported = false;
  let hasClientLeft = false;
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
      // Node responds to a client's GOAWAY before it reports it.
      process.nextTick(() => {
        if (!hasClientLeft) events.goawaySent(code);
      });
    },
  };
  trackSession(session, tracker);
  const onGoaway = (code: number): void => {
    hasClientLeft = true;
    isReported ||= code !== 0;
    events.goawayReceived(code);
  };
  const onError = (error: Error & { readonly code?: string }): void => {
    // Node turns a GOAWAY with an error code into an error.
    if (!isReported) events.losses.add(error.code === "ERR_HTTP2_ERROR" ? error.message : codeOf(error));
    isReported = true;
  };
  const onSocketClose = (): void => {
    if (tracker.openStreams > 0) events.losses.add("closed with calls in progress");
  };
  const onClose = (): void => void stopObserving(session, "");
  session.on("goaway", onGoaway);
  // errorMonitor: the application's own error handling does not change.
  session.on(errorMonitor, onError);
  // Before Node's own listener, which ends the streams.
  session.socket.prependListener("close", onSocketClose);
  session.on("close", onClose);
  noteObserved(session, (why) => {
    session.off("goaway", onGoaway);
    session.off(errorMonitor, onError);
    session.off("close", onClose);
    if (!session.destroyed) session.socket.off("close", onSocketClose);
    untrackSession(session);
    socket.close(why);
  });
}

/** Trace events of a server for all its sessions together: many may come from one session or from thousands. */
class ServerEvents {
  readonly resets: EventFolder;
  readonly losses: EventFolder;
  readonly #closings: EventFolder;
  readonly #errorsSent: EventFolder;
  readonly #errorsReceived: EventFolder;

  constructor(server: ServerHandle) {
    this.resets = new EventFolder(server, "Stream reset");
    this.losses = new EventFolder(server, "Connection lost");
    this.#closings = new EventFolder(server, "GOAWAY sent", "info");
    this.#errorsSent = new EventFolder(server, "GOAWAY sent");
    this.#errorsReceived = new EventFolder(server, "GOAWAY received");
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

/** The events of a server's sessions. */
function eventsOf(server: ServerHandle): ServerEvents {
  let events = known.get(server);
  if (events === undefined) {
    events = new ServerEvents(server);
    known.set(server, events);
  }
  return events;
}
