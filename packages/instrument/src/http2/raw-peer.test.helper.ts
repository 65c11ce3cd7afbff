import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A peer that writes raw HTTP/2 frames, including ones that no library sends. */
export interface RawPeer {
  /** The received frames, oldest first. */
  readonly frames: readonly RawFrame[];
  write(type: number, flags: number, streamId: number, payload?: Uint8Array): void;
  /** Resolves with the first matching frame, received before or later. */
  frame(matches: (frame: RawFrame) => boolean): Promise<RawFrame>;
  /** Resets the connection. */
  cut(): void;
  /** Closes the TCP connection without a GOAWAY. */
  end(): void;
}

export interface RawFrame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

export const frameTypes = { data: 0, headers: 1, rstStream: 3, settings: 4, ping: 6, goaway: 7 } as const;
export const endStream = 0x1;
export const endHeaders = 0x4;

/** The connection preface of a client. */
export const clientPreface: Buffer = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
/** POST / over http to authority "a", with indexes of HPACK's static table. */
export const requestHeaders: Buffer = Buffer.from([0x83, 0x86, 0x84, 0x41, 0x01, 0x61]);
/** Status 200. */
export const responseHeaders: Buffer = Buffer.from([0x88]);

/** A four-byte error code, the payload of RST_STREAM. */
export function errorCode(code: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(code);
  return payload;
}

/** Encodes a frame. */
export function frameOf(type: number, flags: number, streamId: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(streamId, 5);
  return Buffer.concat([header, payload]);
}

/** Connects to a server as a raw client; the preface and the settings are exchanged. */
export async function rawClient(port: number): Promise<RawPeer> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.write(clientPreface);
  const peer = rawPeer(socket, 0);
  peer.write(frameTypes.settings, 0, 0);
  return peer;
}

/** Listens as a raw server; `peer` is the first connection. */
export async function rawServer(): Promise<{ port: number; peer: Promise<RawPeer>; close(): void }> {
  const server = createServer();
  const sockets: Socket[] = [];
  const peer = once(server, "connection").then(([socket]: Socket[]) => {
    sockets.push(socket!);
    const raw = rawPeer(socket!, clientPreface.length);
    raw.write(frameTypes.settings, 0, 0);
    return raw;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    peer,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

function rawPeer(socket: Socket, skippedBytes: number): RawPeer {
  const frames: RawFrame[] = [];
  const waiting = new Set<() => void>();
  let bytes = Buffer.alloc(0);
  let skipped = 0;
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => {
    const skip = Math.min(skippedBytes - skipped, chunk.length);
    skipped += skip;
    bytes = Buffer.concat([bytes, chunk.subarray(skip)]);
    while (bytes.length >= 9 && bytes.length >= 9 + bytes.readUIntBE(0, 3)) {
      const length = bytes.readUIntBE(0, 3);
      const frame = {
        type: bytes[3]!,
        flags: bytes[4]!,
        streamId: bytes.readUInt32BE(5),
        payload: bytes.subarray(9, 9 + length),
      };
      frames.push(frame);
      if (frame.type === frameTypes.settings && frame.flags === 0) peer.write(frameTypes.settings, 1, 0);
      bytes = bytes.subarray(9 + length);
    }
    for (const check of waiting) check();
  });
  const peer: RawPeer = {
    frames,
    write(type, flags, streamId, payload) {
      socket.write(frameOf(type, flags, streamId, payload));
    },
    frame: (matches) =>
      new Promise((resolve) => {
        const check = (): void => {
          const found = frames.find(matches);
          if (found === undefined) return;
          waiting.delete(check);
          resolve(found);
        };
        waiting.add(check);
        check();
      }),
    cut: () => socket.resetAndDestroy(),
    end: () => void socket.end(),
  };
  return peer;
}
