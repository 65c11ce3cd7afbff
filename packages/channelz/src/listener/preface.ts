import type { Socket } from "node:net";

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/**
 * Reads just enough of a connection to distinguish HTTP/2 from HTTP/1.1, puts the bytes back, and calls `decided` once; never
 * if the peer disconnects or stays silent, so the caller must set a timeout.
 */
export function sniffPreface(socket: Socket, decided: (isHttp2: boolean) => void): void {
  let seen: Buffer = Buffer.alloc(0);
  const onData = (chunk: Buffer): void => {
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const length = Math.min(seen.length, preface.length);
    const isPrefix = seen.compare(preface, 0, length, 0, length) === 0;
    if (isPrefix && length < preface.length) return;
    socket.off("data", onData);
    socket.pause();
    socket.unshift(seen);
    decided(isPrefix);
  };
  socket.on("data", onData);
}
