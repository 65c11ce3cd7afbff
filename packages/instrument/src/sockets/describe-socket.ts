import type { Server, Socket } from "node:net";
import type { SocketDetails } from "@wirescope/channelz";
import { unixAddress } from "./addresses.js";
import { nativeSockets } from "./native.js";
import { listenSocketOptions, socketOptions } from "./options.js";
import { descriptorOf, isGone } from "./socket-internals.js";
import { isTls, tlsSecurity } from "./tls.js";

/**
 * A describer for the registry: reads the current options and security of a connection, and the paths of a Unix socket from the
 * kernel. A destroyed socket has no details.
 */
export function describeSocket(socket: Socket): SocketDetails {
  if (isGone(socket)) return {};
  return {
    ...(socket.remoteAddress === undefined && describeUnixPaths(socket)),
    security: isTls(socket) ? tlsSecurity(socket) : undefined,
    options: socketOptions(socket),
  };
}

/** A describer for the registry: reads the current options of a server's listening socket. */
export function describeListenSocket(server: Server): SocketDetails {
  const options = listenSocketOptions(server);
  return server.address() === null ? { ...describeBoundPath(server), options } : { options };
}

/** The path of the server that a client is connected to; undefined without a path, and if native calls are unavailable. */
export function unixPathOf(socket: Socket): string | undefined {
  const remote = isGone(socket) || socket.remoteAddress !== undefined ? undefined : describeUnixPaths(socket)?.remote;
  return remote !== undefined && "path" in remote && remote.path !== "" ? remote.path : undefined;
}

/** Undefined for an unnamed socket pair, such as the standard streams of a child process: its creator describes it. */
function describeUnixPaths(socket: Socket): Pick<SocketDetails, "local" | "remote"> | undefined {
  const descriptor = descriptorOf(socket);
  const native = descriptor === undefined ? undefined : nativeSockets();
  if (descriptor === undefined || native === undefined) return undefined;
  const local = native.localPath(descriptor);
  const remote = native.remotePath(descriptor);
  if (local === undefined || remote === undefined || local + remote === "") return undefined;
  return { local: unixAddress(local), remote: unixAddress(remote) };
}

/** The path of a server that listens on a bare file descriptor, as with socket activation: only the kernel knows it. */
function describeBoundPath(server: Server): Pick<SocketDetails, "local"> | undefined {
  const descriptor = descriptorOf(server);
  const path = descriptor === undefined ? undefined : nativeSockets()?.localPath(descriptor);
  return path === undefined ? undefined : { local: unixAddress(path) };
}
