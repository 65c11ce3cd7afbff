import type { ClientHttp2Session } from "node:http2";
import type { ChannelHandle, Registry } from "@wirescope/channelz";
import { Connectivity } from "../connectivity.js";
import { stopObserving } from "../observation.js";
import { followSession } from "./follow-session.js";
import type { SessionTarget } from "./session-target.js";

/** A channel whose sessions come and go, in the state of these. */
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

  /** Whether it has nothing to show but its past. */
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

  /** Shows it no longer, nor its sessions. */
  close(reason: string): void {
    for (const session of [...this.#sessions]) stopObserving(session, reason);
    this.handle.close(reason);
  }
}
