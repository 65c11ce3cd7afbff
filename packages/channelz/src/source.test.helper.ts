import type { Source } from "./source.js";

/** The reads of a source, and nothing else that it has. */
export function readsOf(source: Source): Source {
  return {
    getTopChannels: (...args) => source.getTopChannels(...args),
    getServers: (...args) => source.getServers(...args),
    getServer: (...args) => source.getServer(...args),
    getServerSockets: (...args) => source.getServerSockets(...args),
    getChannel: (...args) => source.getChannel(...args),
    getSubchannel: (...args) => source.getSubchannel(...args),
    getSocket: (...args) => source.getSocket(...args),
  };
}
