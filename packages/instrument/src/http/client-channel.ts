import type { ChannelHandle, Registry, SubchannelHandle } from "@wirescope/channelz";
import { Connectivity } from "../connectivity.js";
import type { ExchangeCounters } from "./exchange-tracker.js";

/** The maximum number of subchannels without a connection per channel. Limited because the addresses of a name may keep changing. */
const maxIdleSubchannels = 8;

/** A connection that is shown. */
interface ObservedConnection {
  stop(): void;
}

/** The connections of a channel to one address. */
export interface ClientSubchannel {
  readonly handle: SubchannelHandle;
  readonly connectivity: Connectivity;
  /** Its parent channels: more than one if channels share connections. */
  readonly channels: Set<ClientChannel>;
}

/** The channel of an origin over HTTP/1.1 connections, or a channel whose calls another instrument counts. */
export class ClientChannel implements ExchangeCounters {
  readonly isClient = true;
  readonly registry: Registry;
  readonly handle: ChannelHandle;
  readonly target: string;
  readonly calls: readonly ChannelHandle[];
  readonly connectivity: Connectivity;
  /** The connections that it opened. */
  readonly connections: Set<ObservedConnection> = new Set();
  /** Its own subchannels, by their address. */
  readonly #own = new Map<string, ClientSubchannel>();
  /** All of its subchannels, including those of channels that it shares connections with. */
  readonly #linked = new Set<ClientSubchannel>();
  #exchanges = 0;
  #isClosed = false;

  constructor(registry: Registry, handle: ChannelHandle, target: string, countsCalls: boolean) {
    this.registry = registry;
    this.handle = handle;
    this.target = target;
    this.calls = countsCalls ? [handle] : [];
    this.connectivity = new Connectivity(handle);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether it has neither connections nor calls. */
  get isIdle(): boolean {
    return this.#exchanges === 0 && this.connectivity.isIdle;
  }

  exchangeBegan(): void {
    this.#exchanges += 1;
  }

  exchangeEnded(): void {
    this.#exchanges -= 1;
  }

  subchannelAt(address: string): ClientSubchannel {
    const known = this.#own.get(address);
    if (known !== undefined) return known;
    this.#forgetIdle();
    const handle = this.registry.addSubchannel({ parent: this.handle, target: address });
    const subchannel = { handle, connectivity: new Connectivity(handle), channels: new Set<ClientChannel>([this]) };
    this.#own.set(address, subchannel);
    this.#linked.add(subchannel);
    return subchannel;
  }

  /** Links a subchannel of another channel whose connection it shares; false if it is already linked. */
  use(subchannel: ClientSubchannel): boolean {
    if (this.#isClosed || this.#linked.has(subchannel)) return false;
    this.#linked.add(subchannel);
    subchannel.channels.add(this);
    this.handle.link(subchannel.handle);
    return true;
  }

  close(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const connection of [...this.connections]) connection.stop();
    for (const subchannel of this.#linked) {
      subchannel.channels.delete(this);
      closeIfUnused(subchannel, reason);
    }
    this.#own.clear();
    this.#linked.clear();
    this.handle.close(reason);
  }

  #forgetIdle(): void {
    const idle = [...this.#own].filter(([, { connectivity }]) => connectivity.isIdle);
    for (const [address, subchannel] of idle.slice(0, Math.max(0, idle.length - maxIdleSubchannels + 1))) {
      this.#own.delete(address);
      for (const channel of subchannel.channels) channel.#linked.delete(subchannel);
      subchannel.handle.close("too many idle subchannels");
    }
  }
}

/** Closes a subchannel that has neither a channel nor a connection. */
export function closeIfUnused({ handle, channels, connectivity }: ClientSubchannel, reason: string): void {
  if (channels.size === 0 && connectivity.isIdle) handle.close(reason);
}
