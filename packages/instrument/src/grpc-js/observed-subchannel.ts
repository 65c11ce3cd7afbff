import { errorMonitor } from "node:events";
import type { ClientHttp2Session } from "node:http2";
import type { TLSSocket } from "node:tls";
import type { ChannelHandle, Registry, SubchannelHandle } from "@wirescope/channelz";
import { EventCoalescer } from "../event-coalescer.js";
import { describeHttp2Session } from "../http2/describe-session.js";
import { errorCodeName } from "../http2/error-codes.js";
import { trackSession, untrackSession } from "../http2/session-tracker.js";
import { markObserved, stopObserving } from "../observation.js";
import { type EndpointHints, readEndpoints } from "../sockets/addresses.js";
import {
  type SingleSubchannelChannel,
  type Subchannel,
  type SubchannelAddress,
  stateOf,
  type Transport,
} from "./internals.js";
import { adoptState, forwardTrace, type Observed, setObserved } from "./observed.js";

/** A grpc-js subchannel in the registry, with its connections. */
export class ObservedSubchannel implements Observed {
  readonly observer: object;
  readonly handle: SubchannelHandle;
  readonly #registry: Registry;
  readonly #address: SubchannelAddress;
  readonly #channelTarget: string;
  readonly #parents = new Set<ChannelHandle>();
  /** Channels that no longer use it, but may have calls in flight on it. */
  readonly #formerParents = new Set<ChannelHandle>();
  readonly #sessions = new Map<ClientHttp2Session, Transport>();
  /** Connections that received GOAWAY: they accept no new calls, but calls in flight continue. */
  readonly #draining = new Set<ClientHttp2Session>();
  #nestedTarget: string | undefined;
  #nested: ChannelHandle | undefined;
  #isReleased = false;

  constructor(observer: object, registry: Registry, subchannel: Subchannel) {
    this.observer = observer;
    this.#registry = registry;
    this.#address = subchannel.subchannelAddress;
    this.#channelTarget = subchannel.channelTarget.path;
    this.handle = registry.addSubchannel({ target: subchannel.getAddress() });
    forwardTrace(subchannel.channelzTrace, this.handle);
    // Only the connector reports connections.
    setObserved(subchannel.connector, this);
    if (subchannel.transport !== null) this.connected(subchannel.transport);
    adoptState(this.handle, stateOf(subchannel.connectivityState));
    if (subchannel.subchannelChannel) this.nest(subchannel.subchannelChannel);
  }

  /** Adds a channel of the application as a parent. */
  addParent(parent: ChannelHandle): void {
    parent.link(this.handle);
    this.#parents.add(parent);
    this.#formerParents.delete(parent);
    this.#showNestedUnder(parent);
  }

  removeParent(parent: ChannelHandle): void {
    this.#parents.delete(parent);
    if (this.#nested !== undefined) parent.unlink(this.#nested);
    // grpc-js drops a subchannel on GOAWAY or shutdown, but while it has calls it must stay in the tree.
    const isDraining = this.#draining.size > 0 || this.#parents.size === 0;
    if (isDraining && this.#hasCalls()) this.#formerParents.add(parent);
    else parent.unlink(this.handle);
  }

  /** Shows a connection, with the calls that are already in progress on it. */
  connected(transport: Transport): void {
    setObserved(transport, this);
    for (let call = 0; call < transport.activeCalls.size; call += 1) this.handle.callStarted();
    const { session } = transport;
    if (session.destroyed) return;
    this.#sessions.set(session, transport);
    // Before grpc-js's own listener, which drops the subchannel.
    session.prependOnceListener("goaway", () => void this.#draining.add(session));
    session.once("close", () => this.#sessionClosed(session));
    observeTransportSession(this.#registry, session, this.handle, {
      target: this.#channelTarget,
      host: transport.remoteName ?? undefined,
      path: "path" in this.#address ? this.#address.path : undefined,
    });
  }

  callEnded(code: number): void {
    if (code === 0) this.handle.callSucceeded();
    else this.handle.callFailed();
  }

  /** Shows the channel that grpc-js itself uses for this backend, under the channels of the application. */
  nest(channel: SingleSubchannelChannel): void {
    setObserved(channel, this);
    if (this.#nestedTarget !== undefined) return;
    this.#nestedTarget = channel.getTarget();
    for (const parent of this.#parents) this.#showNestedUnder(parent);
  }

  /** grpc-js closed that channel; it may open another. */
  unnest(): void {
    this.#nested?.close("no longer needed");
    this.#nested = undefined;
    this.#nestedTarget = undefined;
  }

  get nested(): ChannelHandle | undefined {
    return this.#nested;
  }

  /** The nested channel has the state of its only subchannel. */
  setState(...change: Parameters<SubchannelHandle["setState"]>): void {
    this.handle.setState(...change);
    this.#nested?.setState(...change);
  }

  /** No channel uses it any more. It is shown until its last connection closes, because that may have calls. */
  release(): void {
    this.#isReleased = true;
    this.#closeIfUnused();
  }

  end(reason: string): void {
    for (const session of this.#sessions.keys()) stopObserving(session, reason);
    this.#nested?.close(reason);
    this.handle.close(reason);
  }

  #hasCalls(): boolean {
    return [...this.#sessions.values()].some(({ activeCalls }) => activeCalls.size > 0);
  }

  #sessionClosed(session: ClientHttp2Session): void {
    this.#sessions.delete(session);
    this.#draining.delete(session);
    if (this.#draining.size === 0) {
      for (const parent of this.#formerParents) parent.unlink(this.handle);
      this.#formerParents.clear();
    }
    this.#closeIfUnused();
  }

  #closeIfUnused(): void {
    if (this.#isReleased && this.#sessions.size === 0) this.end("no longer used by a channel");
  }

  #showNestedUnder(parent: ChannelHandle): void {
    if (this.#nestedTarget === undefined) return;
    if (this.#nested !== undefined) {
      parent.link(this.#nested);
      return;
    }
    this.#nested = this.#registry.addChannel({ parent, target: this.#nestedTarget, name: "health and load" });
    this.#nested.link(this.handle);
    adoptState(this.#nested, this.handle.state);
  }
}

/**
 * Shows the connection of a subchannel until it closes. Its streams, messages and keep-alives are counted here; calls are not,
 * because only grpc-js knows their outcome.
 */
function observeTransportSession(
  registry: Registry,
  session: ClientHttp2Session,
  subchannel: SubchannelHandle,
  hints: EndpointHints,
): void {
  stopObserving(session, "shown under grpc-js");
  const { servername } = session.socket as TLSSocket & { readonly servername?: string | false };
  const socket = registry.addSocket({
    ...readEndpoints(session.socket, { ...hints, servername: servername || undefined }),
    parent: subchannel,
    subject: session,
    describe: describeHttp2Session,
  });
  trackSession(session, {
    isClient: true,
    arePushed: false,
    socket,
    calls: [],
    resets: new EventCoalescer(subchannel, "Stream reset"),
    openStreams: 0,
    early: [],
  });
  let reason = "";
  const onGoaway = (code: number): void => {
    reason = `GOAWAY with ${errorCodeName(code)}`;
    subchannel.trace(reason, { severity: code === 0 ? "info" : "warning" });
  };
  const onError = (error: Error): void => {
    reason = error.message;
  };
  const onClose = (): void => {
    stopObserving(session, reason);
  };
  session.on("goaway", onGoaway);
  // errorMonitor: grpc-js's own error handling does not change.
  session.on(errorMonitor, onError);
  session.once("close", onClose);
  markObserved(session, (why) => {
    session.off("goaway", onGoaway);
    session.off(errorMonitor, onError);
    session.off("close", onClose);
    untrackSession(session);
    socket.close(why);
  });
}
