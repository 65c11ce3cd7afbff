import { makeForLibrary } from "../http2/made-by-library.js";
import type { Copy } from "./copy.js";
import type { Server } from "./internals.js";

/** The server whose info was read last. */
let lastAsked: Server | undefined;

/** Which server responds when grpc-js's registry is read: its entries are closures, which reveal no more. */
export function serverAskedBy(ask: () => void): Server | undefined {
  lastAsked = undefined;
  ask();
  const asked = lastAsked;
  lastAsked = undefined;
  return asked;
}

/** Watches what all servers of a copy do, from construction to shutdown. */
export function patchServers(copy: Copy): void {
  const { channelz, server: prototype } = copy.internals;
  const { getChannelzInfo, createHttp2Server, _setupHandlers } = prototype;
  const { registerChannelzServer } = channelz;

  channelz.registerChannelzServer = (name, getInfo, isEnabled) => {
    const ref = registerChannelzServer(name, getInfo, isEnabled);
    if (copy.observer !== undefined) {
      const server = copy.observer.harmless(() => serverAskedBy(getInfo));
      if (server !== undefined) copy.observer.server(server, ref);
    }
    return ref;
  };
  prototype.getChannelzInfo = function () {
    if (copy.observer !== undefined) lastAsked = this;
    return getChannelzInfo.call(this);
  };
  prototype.createHttp2Server = function (...args) {
    return makeForLibrary(() => createHttp2Server.apply(this, args));
  };
  prototype._setupHandlers = function (http2Server, ...rest) {
    _setupHandlers.call(this, http2Server, ...rest);
    const { observer } = copy;
    observer?.harmless(() => observer.server(this, this.getChannelzRef())?.serve(http2Server));
  };
}
