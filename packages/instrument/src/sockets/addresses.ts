import { isIP, type Server, type Socket } from "node:net";
import type { SocketAddress, SocketEndpoints } from "@wirescope/channelz";
import { acceptedBy, isGone, requestedHost } from "./socket-internals.js";

/** What the creator of a connection knows and Node does not report. */
export interface EndpointHints {
  /** The path of the Unix socket: the one a client connected to, or the one a server listens on. */
  readonly path?: string | undefined;
  /** The host that a client requested. Default: the one that Node looked up. */
  readonly host?: string | undefined;
  /** The name in a client's TLS handshake, which takes precedence over the host. */
  readonly servername?: string | undefined;
  /** The target of the channel: a host that it contains is not repeated as the remote name. */
  readonly target?: string | undefined;
  /** The name of both ends if there are no addresses, such as `pipes of node server.js (pid 4711)`. */
  readonly name?: string | undefined;
}

/** The end of a Unix connection that is not bound to a path, usually the client. */
const unnamedUnixAddress: SocketAddress = { path: "" };
const withoutAddress = "stream without an address";
const unknownAddress: SocketAddress = { name: "unknown: the connection closed before its address was read" };

/**
 * The endpoints of a connection, with both addresses always set. Call it once, as soon as the socket is connected: Node forgets
 * the addresses when the socket is destroyed.
 */
export function readEndpoints(socket: Socket, hints: EndpointHints = {}): SocketEndpoints {
  if (isGone(socket)) return { local: unknownAddress, remote: unknownAddress };
  const addresses = readAddresses(socket, hints);
  const remoteName = nameOfRemote(socket, hints);
  return remoteName === undefined ? addresses : { ...addresses, remoteName };
}

/**
 * The local address of a connection: an IP address, or for an accepted Unix connection the path of its server. Undefined if Node
 * does not know it: for a Unix client, for a pipe, and after the socket is destroyed.
 */
export function localAddress(socket: Socket): SocketAddress | undefined {
  const { localAddress: ip, localPort: port } = socket;
  if (ip !== undefined && port !== undefined) return ipAddress(ip, port);
  const server = acceptedBy(socket);
  const listening = server && listenAddress(server);
  return listening !== undefined && "ip" in listening ? undefined : listening;
}

/**
 * The remote address of a connection: an IP address, or for an accepted Unix connection an empty path, because clients are not
 * bound to one. Undefined if Node does not know it, as with {@link localAddress}.
 */
export function remoteAddress(socket: Socket): SocketAddress | undefined {
  const { remoteAddress: ip, remotePort: port } = socket;
  if (ip !== undefined && port !== undefined) return ipAddress(ip, port);
  const local = localAddress(socket);
  return local === undefined || "ip" in local ? undefined : otherEndOf(local);
}

/** The address on which a server listens; undefined if it does not listen, or listens on a bare file descriptor. */
export function listenAddress(server: Server): SocketAddress | undefined {
  const address = server.address();
  if (address === null) return undefined;
  return typeof address === "string" ? unixAddress(address) : ipAddress(address.address, address.port);
}

/**
 * The address for the path of a Unix socket. In an abstract name (Linux), `@` replaces each NUL, as in the output of `ss`. A
 * Windows named pipe is not a Unix socket, and is shown by its name.
 */
export function unixAddress(path: string): SocketAddress {
  if (/^[\\/]{2}[.?][\\/]pipe[\\/]/i.test(path)) return { name: path };
  return { path: path.replaceAll("\0", "@") };
}

function readAddresses(socket: Socket, { path, name }: EndpointHints): { local: SocketAddress; remote: SocketAddress } {
  if (path && socket.remoteAddress === undefined && socket.localAddress === undefined) {
    const named = unixAddress(path);
    const other = otherEndOf(named);
    return acceptedBy(socket) === undefined ? { local: other, remote: named } : { local: named, remote: other };
  }
  const local = localAddress(socket);
  const remote = remoteAddress(socket);
  if (local === undefined && remote === undefined) {
    const both = { name: name ?? withoutAddress };
    return { local: both, remote: both };
  }
  return { local: local ?? unknownAddress, remote: remote ?? unknownAddress };
}

/** Only one end of a Unix connection has a path; both ends of a named pipe have its name. */
function otherEndOf(address: SocketAddress): SocketAddress {
  return "path" in address ? unnamedUnixAddress : address;
}

/** A dual-stack server reports IPv4 addresses mapped into IPv6; people expect the IPv4 address. */
function ipAddress(ip: string, port: number): SocketAddress {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip);
  return { ip: mapped?.[1] ?? ip, port };
}

function nameOfRemote(socket: Socket, { servername, host, target }: EndpointHints): string | undefined {
  const name = servername || host || (acceptedBy(socket) === undefined ? requestedHost(socket) : undefined);
  if (name === undefined || isIP(name) !== 0) return undefined;
  const parts = target?.toLowerCase().split(/[/:@]+/) ?? [];
  return parts.includes(name.toLowerCase()) ? undefined : name;
}
