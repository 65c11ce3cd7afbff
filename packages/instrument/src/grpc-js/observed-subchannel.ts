import { errorMonitor } from "node:events";
import type { ClientHttp2Session } from "node:http2";
import type { TLSSocket } from "node:tls";
import type { ChannelHandle, Registry, SubchannelHandle } from "@wirescope/channelz";
import { EventFolder } from "../event-folder.js";
import { describeHttp2Session } from "../http2/describe-session.js";
import { errorCodeName } from "../http2/error-codes.js";
import { trackSession, untrackSession } from "../http2/session-tracker.js";
import { noteObserved, stopObserving } from "../observation.js";
import { type EndpointHints, readEndpoints } from "../sockets/addresses.js";
import {
  type SingleSubchannelChannel,
  type Subchannel,
  type SubchannelAddress,
  stateOf,
  type Transport,
} from "./internals.js";
import { forwardTrace, noteOn, type Observed, takeOverState } from "./observed.js";

/** A subchannel of grpc-js's in the registry, with its connections. */
export class ObservedSubchannel implements Observed {
  readonly observer: object;
  readonly handle: SubchannelHandle;
  readonly #registry: Registry;
  readonly #address: SubchannelAddress;
  readonly #channelTarget: string;
  readonly #parents = new Set<ChannelHandle>();
  /** Channels that stopped using it while calls may be in flight. */
  readonly #formerParents = new Set<ChannelHandle>();
  readonly #sessions = new Map<ClientHttp2Session, Transport>();
  /** Those that received GOAWAY: they take no new calls, but the ones in flight continue. */
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
    // The connector alone reports what it connects.
    noteOn(subchannel.connector, this);
    if (subchannel.transport !== null) this.connected(subchannel.transport);
    takeOverState(this.handle, stateOf(subchannel.connectivityState));
    if (subchannel.subchannelChannel) this.nest(subchannel.subchannelChannel);
  }

  /** A channel that the application made is now over it. */
  addParent(parent: ChannelHandle): void {
    parent.link(this.handle);
    this.#parents.add(parent);
    this.#formerParents.delete(parent);
    this.#showNestedUnder(parent);
  }

  removeParent(parent: ChannelHandle): void {
    this.#parents.delete(parent);
    if (this.#nested !== undefined) parent.unlink(this.#nested);
    // grpc-js drops a subchannel at the first sign of its end. What still carries calls must not vanish from the tree.
    const isDraining = this.#draining.size > 0 || this.#parents.size === 0;
    if (isDraining && this.#hasCalls()) this.#formerParents.add(parent);
    else parent.unlink(this.handle);
  }

  /** Shows a connection, with the calls that are already under way on it. */
  connected(transport: Transport): void {
    noteOn(transport, this);
    for (let call = 0; call < transport.activeCalls.size; call += 1) this.handle.callStarted();
    const { session } = transport;
    if (session.destroyed) return;
    this.#sessions.set(session, transport);
    // Before grpc-js hears of it, and drops the subchannel.
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

  /** Shows the channel through which grpc-js itself talks to this backend: under the channels of the application, never beside them. */
  nest(channel: SingleSubchannelChannel): void {
    noteOn(channel, this);
    if (this.#nestedTarget !== undefined) return;
    this.#nestedTarget = channel.getTarget();
    for (const parent of this.#parents) this.#showNestedUnder(parent);
  }

  /** grpc-js is done with that channel, though it may come back to it. */
  unnest(): void {
    this.#nested?.close("no longer needed");
    this.#nested = undefined;
    this.#nestedTarget = undefined;
  }

  get nested(): ChannelHandle | undefined {
    return this.#nested;
  }

  /** The state of the nested channel is the one of its only subchannel. */
  setState(...change: Parameters<SubchannelHandle["setState"]>): void {
    this.handle.setState(...change);
    this.#nested?.setState(...change);
  }

  /** Nothing uses it any more; it stays for as long as there are calls on its last connection. */
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
    if (this.#isReleased && this.#sessions.size === 0) this.end("no channel uses it any more");
  }

  #showNestedUnder(parent: ChannelHandle): void {
    if (this.#nestedTarget === undefined) return;
    if (this.#nested !== undefined) {
      parent.link(this.#nested);
      return;
    }
    this.#nested = this.#registry.addChannel({ parent, target: this.#nestedTarget, name: "health and load" });
    this.#nested.link(this.handle);
    takeOverState(this.#nested, this.handle.state);
  }
}

/**
 * Shows the connection of a subchannel, from now until it closes. Its streams, messages and keep-alives are counted as they
 * pass; calls are not, since grpc-js knows better than the wire how they ended.
 */
function observeTransportSession(
  registry: Registry,
  session: ClientHttp2Session,
  subchannel: SubchannelHandle,
  hints: EndpointHints,
): void {
  stopObserving(session, "it belongs to grpc-js");
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
    resets: new EventFolder(subchannel, "Stream reset"),
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
  // Heard without being handled: what grpc-js does about errors stays its own affair.
  session.on(errorMonitor, onError);
  session.once("close", onClose);
  noteObserved(session, (why) => {
    session.off("goaway", onGoaway);
    session.off(errorMonitor, onError);
    session.off("close", onClose);
    untrackSession(session);
    socket.close(why);
  });
}
