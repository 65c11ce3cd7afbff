import { connect, type Socket, type TcpNetConnectOpts } from "node:net";

/** What came in for any of them, until it is copied, which is at once. */
const landing = Buffer.allocUnsafeSlow(65_536);

/**
 * Connects a socket whose bytes do not pass Node's streams: those allocate 64 KiB for each read, however little comes, which takes
 * longer than to copy that. It tells of bytes by `data` as others do, stops and goes on by `pause` and `resume`, and ends as others
 * do. It is paused until it is resumed: what comes while nobody listens is lost, for there is nothing to `read`.
 */
export function connectDirect(options: TcpNetConnectOpts): Socket {
  const socket = connect({
    ...options,
    onread: {
      buffer: landing,
      callback(length) {
        // Not of Node's pool: who keeps a byte of it would keep what came for others too, up to 64 KiB.
        const bytes = Buffer.allocUnsafeSlow(length);
        landing.copy(bytes, 0, 0, length);
        socket.emit("data", bytes);
        return true;
      },
    },
  });
  // Else it reads as soon as it is connected, whoever listens.
  return socket.pause();
}
