import type { Server, Socket } from "node:net";
import type { SocketDetails } from "@wirescope/channelz";
import { unixAddress } from "./addresses.js";
import { nativeSockets } from "./native.js";
import { listenSocketOptions, socketOptions } from "./options.js";
import { descriptorOf, isGone } from "./socket-internals.js";
import { isTls, tlsSecurity } from "./tls.js";

/**
 * Reads a connection's options and security as they are at this moment, and the paths of a Unix socket as the kernel
 * knows them: a describer for the registry. A destroyed socket has no details.
 */
export function describeSocket(socket: Socket): SocketDetails {
  if (isGone(socket)) return {};
  return {
    ...(socket.remoteAddress === undefined && describeUnixPaths(socket)),
    security: isTls(socket) ? tlsSecurity(socket) : undefined,
    options: socketOptions(socket),
  };
}

/** Reads the options of the socket on which a server listens, at this moment: a describer for the registry. */
export function describeListenSocket(server: Server): SocketDetails {
  const options = listenSocketOptions(server);
  return server.address() === null ? { ...describeBoundPath(server), options } : { options };
}

/** Undefined for a pair without names, such as the standard streams of a child process: its creator describes it. */
function describeUnixPaths(socket: Socket): Pick<SocketDetails, "local" | "remote"> | undefined {
  const descriptor = descriptorOf(socket);
  const native = descriptor === undefined ? undefined : nativeSockets();
  if (descriptor === undefined || native === undefined) return undefined;
  const local = native.localPath(descriptor);
  const remote = native.remotePath(descriptor);
  if (local === undefined || remote === undefined || local + remote === "") return undefined;
  return { local: unixAddress(local), remote: unixAddress(remote) };
}

/** A server that was given a bare descriptor, as by socket activation, does not know its path. */
function describeBoundPath(server: Server): Pick<SocketDetails, "local"> | undefined {
  const descriptor = descriptorOf(server);
  const path = descriptor === undefined ? undefined : nativeSockets()?.localPath(descriptor);
  return path === undefined ? undefined : { local: unixAddress(path) };
}
