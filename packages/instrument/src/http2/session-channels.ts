import type { ClientHttp2Session } from "node:http2";
import type { Registry } from "@wirescope/channelz";
import { SessionChannel } from "./session-channel.js";
import type { SessionTarget } from "./session-target.js";

/** The channels of this process's sessions, one for each target, however many sessions there are. */
export class SessionChannels {
  readonly #registry: Registry;
  readonly #maxIdle: number;
  /** In the order of their last use. */
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

  /** Closes all channels. */
  close(reason: string): void {
    for (const channel of this.#byTarget.values()) channel.close(reason);
    this.#byTarget.clear();
  }

  #create(target: string): SessionChannel {
    this.#closeIdle();
    return new SessionChannel(this.#registry, this.#registry.addChannel({ target }));
  }

  /** Lets the channels go that were used longest ago, so that not more are kept idle than may be. */
  #closeIdle(): void {
    const idle = [...this.#byTarget].filter(([, channel]) => channel.isIdle);
    for (const [target, channel] of idle.slice(0, Math.max(0, idle.length - this.#maxIdle + 1))) {
      this.#byTarget.delete(target);
      channel.close("idle for longest");
    }
  }
}
