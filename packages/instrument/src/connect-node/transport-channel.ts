import type { ClientHttp2Session, ClientSessionOptions } from "node:http2";
import type { ConnectTransportOptions } from "@connectrpc/connect-node";
import type { ChannelInit, Registry } from "@wirescope/channelz";
import { type SessionOwner, sessionOwnerKey } from "../http2/patch-module.js";
import { SessionChannel } from "../http2/session-channels.js";
import { type SessionTarget, unixTarget } from "../http2/session-target.js";
import { CallCounter } from "./counted-calls.js";

/** The channel of a transport, from its first use until it is shut down. */
interface Life {
  readonly sessions: SessionChannel;
  readonly counter: CallCounter;
}

/** The channel of a transport over HTTP/2, in the state of the sessions that its session manager makes. */
export class TransportChannel implements SessionOwner {
  readonly registry: Registry;
  readonly #init: ChannelInit;
  readonly #target: SessionTarget;
  #life: Life | undefined;
  #isStopped = false;

  constructor(registry: Registry, init: ChannelInit & { readonly target: string }, path: string | undefined) {
    this.registry = registry;
    this.#init = init;
    this.#target = { target: path === undefined ? init.target : unixTarget(path), path };
    this.#begin();
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** The counter for a call that starts now. */
  readonly counter = (): CallCounter | undefined => (this.#isStopped ? undefined : this.#begin().counter);

  sessionOpened(session: ClientHttp2Session): void {
    if (!this.#isStopped) this.#begin().sessions.add(session, this.#target, false);
  }

  /** Closes the channel. If the application uses the transport again, that is a new channel. */
  shutDown(reason: string): void {
    this.#life?.sessions.handle.close(reason);
    this.#life = undefined;
  }

  /** Stops showing it. */
  stop(reason: string): void {
    this.#isStopped = true;
    this.#life?.sessions.close(reason);
    this.#life = undefined;
  }

  #begin(): Life {
    if (this.#life !== undefined) return this.#life;
    const channel = this.registry.addChannel(this.#init);
    this.#life = { sessions: new SessionChannel(this.registry, channel), counter: new CallCounter(channel) };
    return this.#life;
  }
}

interface Stoppable {
  stop(reason: string): void;
}

/** Closes the channels of transports that were garbage-collected, because a transport has no close(). */
export const finalizers: FinalizationRegistry<Stoppable> = new FinalizationRegistry((channel) =>
  channel.stop("the application dropped the transport"),
);

/** The session manager of a transport. */
export type SessionManager = NonNullable<Extract<ConnectTransportOptions, { httpVersion: "2" }>["sessionManager"]>;

/** Further members of Connect's own manager, documented or not. Each may be missing. */
interface Internals {
  abort?(reason?: Error): void;
  http2SessionOptions?: (ClientSessionOptions & { readonly path?: unknown }) | undefined;
  readonly s?: { readonly t?: string; readonly conn?: ClientHttp2Session };
}

const channels = new WeakMap<SessionManager, TransportChannel>();

/**
 * The channel of a session manager that the application created: one for all transports that share it. It is shut down when the
 * manager is aborted. The sessions of other implementations of a manager are not shown.
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
