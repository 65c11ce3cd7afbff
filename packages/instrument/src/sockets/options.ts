import type { Server, Socket } from "node:net";
import { lingerOption, type SocketOptionInit, timeoutOption } from "@wirescope/channelz/registry";
import { nativeSockets } from "./native.js";
import { descriptorOf, isGone } from "./socket-internals.js";
import { parseTcpInfo, tcpInfoSize } from "./tcp-info.js";

/** A socket option: its level, number and size on Linux, and how to decode it. */
interface KnownOption {
  readonly level: number;
  readonly option: number;
  readonly size: number;
  readonly decode: (value: Buffer) => SocketOptionInit;
}

const socketLevel = 1;
const tcpLevel = 6;

const receiveBuffer = numberOption("SO_RCVBUF", socketLevel, 8);
const sendBuffer = numberOption("SO_SNDBUF", socketLevel, 7);
const tcpInfo: KnownOption = { level: tcpLevel, option: 11, size: tcpInfoSize, decode: parseTcpInfo };

const connectionOptions: readonly KnownOption[] = [
  { level: socketLevel, option: 13, size: 8, decode: decodeLinger },
  { level: socketLevel, option: 20, size: 16, decode: timeoutDecoder("SO_RCVTIMEO") },
  { level: socketLevel, option: 21, size: 16, decode: timeoutDecoder("SO_SNDTIMEO") },
  numberOption("SO_KEEPALIVE", socketLevel, 9),
  receiveBuffer,
  sendBuffer,
  numberOption("TCP_NODELAY", tcpLevel, 1),
  tcpInfo,
];

/** For a listening socket, TCP_INFO contains the accept queue: its length as unacked, its limit as sacked. */
const listenOptions: readonly KnownOption[] = [
  numberOption("SO_REUSEADDR", socketLevel, 2),
  numberOption("SO_REUSEPORT", socketLevel, 15),
  receiveBuffer,
  sendBuffer,
  tcpInfo,
];

/**
 * The current options of a connection, from getsockopt(). Options that do not apply are left out, such as those of TCP for a Unix
 * socket. Undefined for a socket that has none or is destroyed, and if native calls are unavailable.
 */
export function socketOptions(socket: Socket): SocketOptionInit[] | undefined {
  return isGone(socket) ? undefined : readOptions(socket, connectionOptions);
}

/** The options of a server's listening socket, like {@link socketOptions}; undefined if it does not listen. */
export function listenSocketOptions(server: Server): SocketOptionInit[] | undefined {
  return readOptions(server, listenOptions);
}

function readOptions(subject: Socket | Server, known: readonly KnownOption[]): SocketOptionInit[] | undefined {
  const descriptor = descriptorOf(subject);
  const native = descriptor === undefined ? undefined : nativeSockets();
  if (descriptor === undefined || native === undefined) return undefined;
  const options: SocketOptionInit[] = [];
  for (const { level, option, size, decode } of known) {
    const value = native.getOption(descriptor, level, option, size);
    if (value?.length === size) options.push(decode(value));
  }
  return options.length === 0 ? undefined : options;
}

/** An option that is a C int, shown as a number; 1 or 0 for a boolean. */
function numberOption(name: string, level: number, option: number): KnownOption {
  return { level, option, size: 4, decode: (value) => ({ name, value: String(value.readInt32LE()) }) };
}

const lingerOff = lingerOption(false, 0);

/** Reads a `struct linger`, whose time is in seconds. */
function decodeLinger(value: Buffer): SocketOptionInit {
  const isActive = value.readInt32LE(0) !== 0;
  const seconds = value.readInt32LE(4);
  return isActive || seconds !== 0 ? lingerOption(isActive, seconds * 1000) : lingerOff;
}

/** Reads a `struct timeval`: seconds and microseconds, 64 bits each. */
function timeoutDecoder(name: string): (value: Buffer) => SocketOptionInit {
  const none = timeoutOption(name, 0);
  return (value) => {
    const milliseconds = Number(value.readBigInt64LE(0)) * 1000 + Number(value.readBigInt64LE(8)) / 1000;
    return milliseconds === 0 ? none : timeoutOption(name, milliseconds);
  };
}
