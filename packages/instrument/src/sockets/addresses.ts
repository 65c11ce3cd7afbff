import { isIP, type Server, type Socket } from "node:net";
import type { SocketAddress, SocketEndpoints } from "@wirescope/channelz";
import { acceptedBy, hostAskedFor, isGone } from "./socket-internals.js";

/** What the creator of a connection knows and Node does not report. */
export interface EndpointHints {
  /** The path of the Unix socket: the one a client connected to, or the one a server listens on. */
  readonly path?: string | undefined;
  /** The host that a client asked for. Default: the one that Node looked up. */
  readonly host?: string | undefined;
  /** The name in a client's TLS handshake, which takes precedence over the host. */
  readonly servername?: string | undefined;
  /** The target of the channel: a name that it contains is not shown again. */
  readonly target?: string | undefined;
  /** What to call both ends if there are no addresses, such as `pipes of node server.js (pid 4711)`. */
  readonly name?: string | undefined;
}

/** The end of a Unix connection that is bound to no path, as clients are. */
const unnamedUnixAddress: SocketAddress = { path: "" };
const withoutAddress = "stream without an address";
const unknownAddress: SocketAddress = { name: "unknown: the connection closed before its address was read" };

/**
 * The endpoints of a connection, with both addresses always set. To be called once, as soon as it is connected: Node
 * forgets the addresses when the socket is destroyed.
 */
export function readEndpoints(socket: Socket, hints: EndpointHints = {}): SocketEndpoints {
  if (isGone(socket)) return { local: unknownAddress, remote: unknownAddress };
  const addresses = readAddresses(socket, hints);
  const remoteName = nameOfRemote(socket, hints);
  return remoteName === undefined ? addresses : { ...addresses, remoteName };
}

/**
 * The address to which a connection is bound here: an IP address, or for an accepted Unix connection the path of its
 * server. Undefined if Node knows none: for a Unix client, for a pipe, and after the socket is destroyed.
 */
export function localAddress(socket: Socket): SocketAddress | undefined {
  const { localAddress: ip, localPort: port } = socket;
  if (ip !== undefined && port !== undefined) return ipAddress(ip, port);
  const server = acceptedBy(socket);
  const listening = server && listenAddress(server);
  return listening !== undefined && "ip" in listening ? undefined : listening;
}

/**
 * The address of the other end of a connection: an IP address, or for an accepted Unix connection one with an empty
 * path, since clients bind to none. Undefined if Node knows none, as with {@link localAddress}.
 */
export function remoteAddress(socket: Socket): SocketAddress | undefined {
  const { remoteAddress: ip, remotePort: port } = socket;
  if (ip !== undefined && port !== undefined) return ipAddress(ip, port);
  const local = localAddress(socket);
  return local === undefined || "ip" in local ? undefined : otherEndOf(local);
}

/** The address on which a server listens; undefined while it does not, or where it was given a bare descriptor. */
export function listenAddress(server: Server): SocketAddress | undefined {
  const address = server.address();
  if (address === null) return undefined;
  return typeof address === "string" ? unixAddress(address) : ipAddress(address.address, address.port);
}

/**
 * The address of a Unix socket's path. A name in Linux's abstract namespace has `@` for each NUL, as `ss` writes it; a
 * named pipe of Windows is no Unix socket, and goes by its name.
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

/** A server that listens on both families reports IPv4 mapped into IPv6; people know the address without that. */
function ipAddress(ip: string, port: number): SocketAddress {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip);
  return { ip: mapped?.[1] ?? ip, port };
}

function nameOfRemote(socket: Socket, { servername, host, target }: EndpointHints): string | undefined {
  const name = servername || host || (acceptedBy(socket) === undefined ? hostAskedFor(socket) : undefined);
  if (name === undefined || isIP(name) !== 0) return undefined;
  const parts = target?.toLowerCase().split(/[/:@]+/) ?? [];
  return parts.includes(name.toLowerCase()) ? undefined : name;
}
