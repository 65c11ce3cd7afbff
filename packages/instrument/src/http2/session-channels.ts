import type { ClientHttp2Session } from "node:http2";
import type { ChannelHandle, Registry } from "@wirescope/channelz";
import { Connectivity } from "../connectivity.js";
import { stopObserving } from "../observation.js";
import { followSession } from "./follow-session.js";
import type { SessionTarget } from "./session-target.js";

/** A channel with the state of its sessions. */
export class SessionChannel {
  readonly handle: ChannelHandle;
  readonly #registry: Registry;
  readonly #connectivity: Connectivity;
  readonly #sessions = new Set<ClientHttp2Session>();

  constructor(registry: Registry, handle: ChannelHandle) {
    this.#registry = registry;
    this.handle = handle;
    this.#connectivity = new Connectivity(handle);
  }

  get isIdle(): boolean {
    return this.#sessions.size === 0;
  }

  /** Shows a session, from now until it closes. */
  add(session: ClientHttp2Session, { target, path }: SessionTarget, countsCalls: boolean): void {
    if (session.destroyed || this.handle.isClosed) return;
    const { handle: channel } = this;
    const connectivity = this.#connectivity;
    const onEnded = (): void => void this.#sessions.delete(session);
    followSession(this.#registry, session, { channel, target, path, countsCalls, connectivity, onEnded });
    this.#sessions.add(session);
  }

  /** Stops showing it and its sessions. */
  close(reason: string): void {
    for (const session of [...this.#sessions]) stopObserving(session, reason);
    this.handle.close(reason);
  }
}

/** The channels for the sessions of this process, one for each target. */
export class SessionChannels {
  readonly #registry: Registry;
  readonly #maxIdle: number;
  /** Least recently used first. */
  readonly #byTarget = new Map<string, SessionChannel>();

  constructor(registry: Registry, maxIdle: number) {
    this.#registry = registry;
    this.#maxIdle = maxIdle;
  }

  /** Shows a session under the channel of its target. */
  add(session: ClientHttp2Session, target: SessionTarget): void {
    const channel = this.#byTarget.get(target.target) ?? this.#create(target.target);
    this.#byTarget.delete(target.target);
    this.#byTarget.set(target.target, channel);
    channel.add(session, target, true);
  }

  close(reason: string): void {
    for (const channel of this.#byTarget.values()) channel.close(reason);
    this.#byTarget.clear();
  }

  #create(target: string): SessionChannel {
    this.#closeIdle();
    return new SessionChannel(this.#registry, this.#registry.addChannel({ target }));
  }

  /** Closes the least recently used idle channels above the limit. */
  #closeIdle(): void {
    const idle = [...this.#byTarget].filter(([, channel]) => channel.isIdle);
    for (const [target, channel] of idle.slice(0, Math.max(0, idle.length - this.#maxIdle + 1))) {
      this.#byTarget.delete(target);
      channel.close("too many idle channels");
    }
  }
}
