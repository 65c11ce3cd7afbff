import type { Registry } from "@wirescope/channelz";
import { WeakList } from "../weak-list.js";
import { type InternalChannel, type Internals, type Ref, type Server, type Subchannel, stateOf } from "./internals.js";
import { getObserved, setObserved } from "./observed.js";
import { ObservedChannel } from "./observed-channel.js";
import { ObservedServer } from "./observed-server.js";
import { ObservedSubchannel } from "./observed-subchannel.js";

/** A late resolver result may change the state of a closed channel, so the state alone is not enough. */
const closedChannels = new WeakSet<InternalChannel>();

/** Marks a channel as closed, even without an observer: a later observer must not show it. */
export function markClosed(channel: InternalChannel): void {
  closedChannels.add(channel);
}

/**
 * Adds the objects of one copy of grpc-js to a registry when they are created, or at their next call or state change if they
 * existed before.
 */
export class Observer {
  readonly #registry: Registry;
  readonly #observed = new WeakList<ObservedChannel | ObservedSubchannel | ObservedServer>();
  /** Objects to end when grpc-js removes them from its own registry. */
  readonly #byRef = new WeakMap<Ref, ObservedSubchannel | ObservedServer>();
  #hasWarned = false;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** Undefined for a channel that closed before it was observed. */
  channel(channel: InternalChannel): ObservedChannel | undefined {
    return getObserved<ObservedChannel>(channel, this) ?? this.guard(() => this.#addChannel(channel));
  }

  /** Undefined for a subchannel that was released before it was observed. */
  subchannel(subchannel: Subchannel): ObservedSubchannel | undefined {
    return getObserved<ObservedSubchannel>(subchannel, this) ?? this.guard(() => this.#addSubchannel(subchannel));
  }

  server(server: Server, ref: Ref): ObservedServer | undefined {
    return getObserved<ObservedServer>(server, this) ?? this.guard(() => this.#addServer(server, ref));
  }

  /** Adds the existing objects that grpc-js keeps a list of: servers, and the subchannels that channels share. */
  addExisting({ channelz, globalPool }: Internals, captureServer: (readInfo: () => void) => Server | undefined): void {
    for (const pooled of Object.values(globalPool().pool)) {
      for (const { subchannel } of pooled) this.subchannel(subchannel);
    }
    const { GetServers } = channelz.getChannelzHandlers();
    for (let start = 0, isEnd = false; !isEnd; ) {
      const server = captureServer(() => {
        GetServers({ request: { start_server_id: String(start), max_results: "1" } }, (_error, page) => {
          isEnd = page === undefined || page.server.length === 0;
          start = (page?.server[0]?.ref.server_id ?? 0) + 1;
        });
      });
      if (!isEnd && server !== undefined) this.server(server, server.getChannelzRef());
    }
  }

  /** grpc-js removed an object from its own registry. */
  unregistered(ref: Ref): void {
    const observed = this.#byRef.get(ref);
    // grpc-js traces keep refs longer than their objects live.
    this.#byRef.delete(ref);
    if (observed instanceof ObservedSubchannel) observed.release();
    else observed?.end("shut down by the application");
  }

  stop(reason: string): void {
    for (const observed of this.#observed) observed.end(reason);
  }

  /** Runs code that must not affect the application: an error is reported once and otherwise ignored. */
  guard<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (!this.#hasWarned) {
        this.#hasWarned = true;
        process.emitWarning(
          `A @grpc/grpc-js object is not shown in Channelz: ${error}. Calls are not affected. Report this with your grpc-js version.`,
          { type: "ChannelzWarning", code: "GRPC_JS_NOT_SHOWN" },
        );
      }
      return undefined;
    }
  }

  #addChannel(channel: InternalChannel): ObservedChannel | undefined {
    if (closedChannels.has(channel) || stateOf(channel.connectivityState) === "SHUTDOWN") return undefined;
    const observed = new ObservedChannel(this, this.#registry, channel);
    setObserved(channel, observed);
    this.#observed.add(observed);
    for (const wrapped of channel.wrappedSubchannels) {
      const subchannel = this.subchannel(wrapped.getRealSubchannel());
      if (subchannel !== undefined) observed.use(subchannel);
    }
    return observed;
  }

  #addSubchannel(subchannel: Subchannel): ObservedSubchannel | undefined {
    if (subchannel.refcount === 0) return undefined;
    const observed = new ObservedSubchannel(this, this.#registry, subchannel);
    setObserved(subchannel, observed);
    this.#observed.add(observed);
    this.#byRef.set(subchannel.getChannelzRef(), observed);
    return observed;
  }

  #addServer(server: Server, ref: Ref): ObservedServer {
    const observed = new ObservedServer(this, this.#registry, server);
    setObserved(server, observed);
    this.#observed.add(observed);
    this.#byRef.set(ref, observed);
    return observed;
  }
}
