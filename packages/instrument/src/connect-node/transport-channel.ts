import type { ClientHttp2Session, ClientSessionOptions } from "node:http2";
import type { ConnectTransportOptions } from "@connectrpc/connect-node";
import type { ChannelInit, Registry } from "@wirescope/channelz";
import { type SessionOwner, sessionOwnerKey } from "../http2/patch-module.js";
import { SessionChannel } from "../http2/session-channels.js";
import { type SessionTarget, unixTarget } from "../http2/session-target.js";
import { CallCounter } from "./counted-calls.js";

/** The channel of a transport, until it is shut down. */
interface OpenChannel {
  readonly sessions: SessionChannel;
  readonly counter: CallCounter;
}

/** The channel of an HTTP/2 transport, with the state of the sessions that its session manager opens. */
export class TransportChannel implements SessionOwner {
  readonly registry: Registry;
  readonly #init: ChannelInit;
  readonly #target: SessionTarget;
  #open: OpenChannel | undefined;
  #isStopped = false;

  constructor(registry: Registry, init: ChannelInit & { readonly target: string }, path: string | undefined) {
    this.registry = registry;
    this.#init = init;
    this.#target = { target: path === undefined ? init.target : unixTarget(path), path };
    this.#openChannel();
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** The counter for a call that starts now. */
  readonly counter = (): CallCounter | undefined => (this.#isStopped ? undefined : this.#openChannel().counter);

  sessionOpened(session: ClientHttp2Session): void {
    if (!this.#isStopped) this.#openChannel().sessions.add(session, this.#target, false);
  }

  /** Closes the channel. If the application uses the transport again, a new channel is opened. */
  shutDown(reason: string): void {
    this.#open?.sessions.handle.close(reason);
    this.#open = undefined;
  }

  /** Closes the channel for good. */
  stop(reason: string): void {
    this.#isStopped = true;
    this.#open?.sessions.close(reason);
    this.#open = undefined;
  }

  #openChannel(): OpenChannel {
    if (this.#open !== undefined) return this.#open;
    const channel = this.registry.addChannel(this.#init);
    this.#open = { sessions: new SessionChannel(this.registry, channel), counter: new CallCounter(channel) };
    return this.#open;
  }
}

interface Stoppable {
  stop(reason: string): void;
}

/** Closes the channels of transports that were garbage-collected, because a transport has no close(). */
export const finalizers: FinalizationRegistry<Stoppable> = new FinalizationRegistry((channel) =>
  channel.stop("the application dropped the transport"),
);

export type SessionManager = NonNullable<Extract<ConnectTransportOptions, { httpVersion: "2" }>["sessionManager"]>;

/** Other members of Connect's own session manager, some of them undocumented. Each may be missing. */
interface Internals {
  abort?(reason?: Error): void;
  http2SessionOptions?: (ClientSessionOptions & { readonly path?: unknown }) | undefined;
  readonly s?: { readonly t?: string; readonly conn?: ClientHttp2Session };
}

const channels = new WeakMap<SessionManager, TransportChannel>();

/**
 * The channel of a session manager that the application created, shared by all its transports. It is shut down when the manager is
 * aborted. The sessions of custom session managers are not shown.
 */
export function channelOfManager(
  registry: Registry,
  manager: SessionManager,
  init: ChannelInit & { readonly target: string },
): TransportChannel {
  const known = channels.get(manager);
  if (known !== undefined && known.registry === registry && !known.isStopped) return known;
  known?.stop("observed again");
  const internals = manager as Internals;
  const { path } = internals.http2SessionOptions ?? {};
  const channel = new TransportChannel(registry, init, typeof path === "string" ? path : undefined);
  if ("http2SessionOptions" in internals) {
    internals.http2SessionOptions = { ...internals.http2SessionOptions, [sessionOwnerKey]: channel } as object;
  }
  const { abort } = internals;
  if (abort !== undefined && known === undefined) {
    internals.abort = (reason) => {
      Reflect.apply(abort, manager, [reason]);
      channels.get(manager)?.shutDown(reason?.message ?? "aborted");
    };
  }
  // The manager may already be connected.
  if (internals.s?.t === "ready" && internals.s.conn !== undefined) channel.sessionOpened(internals.s.conn);
  channels.set(manager, channel);
  finalizers.register(manager, channel);
  return channel;
}
