import type { ClientHttp2Session } from "node:http2";
import type { ChannelInit, Registry } from "@wirescope/channelz";
import { SessionChannel } from "../http2/session-channel.js";
import type { SessionOwner } from "../http2/session-owner.js";
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

  /** What counts a call that begins now. */
  readonly counter = (): CallCounter | undefined => (this.#isStopped ? undefined : this.#begin().counter);

  sessionOpened(session: ClientHttp2Session): void {
    if (!this.#isStopped) this.#begin().sessions.add(session, this.#target, false);
  }

  /** The application has done with it for now. Should it use it again, that is a new channel. */
  shutDown(reason: string): void {
    this.#life?.sessions.handle.close(reason);
    this.#life = undefined;
  }

  /** Shows it no longer. */
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
