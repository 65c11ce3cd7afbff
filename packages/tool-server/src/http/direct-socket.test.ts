import { once } from "node:events";
import { type AddressInfo, createServer, type LookupFunction, type Socket, type TcpNetConnectOpts } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { waiting } from "../waiting.test.helper.js";
import { connectDirect } from "./direct-socket.js";
import { startRawServer } from "./hostile-http-server.test.helper.js";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Bytes that are nobody else's, and tell where they belong. */
function bytesOf(owner: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at + 4 <= length; at += 4) bytes.writeUInt32LE(owner * 0x1000000 + at / 4, at);
  return bytes;
}

/** A direct socket that is not awake yet, and its other end. */
async function join(options: Partial<TcpNetConnectOpts> = {}): Promise<{ socket: Socket; server: Socket }> {
  const accepted: Socket[] = [];
  const { port } = await startRawServer((peer) => accepted.push(peer));
  const socket = connectDirect({ host: "localhost", port, ...options });
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  await vi.waitFor(() => expect(accepted).toHaveLength(1), waiting);
  return { socket, server: accepted[0] as Socket };
}

/** What came so far. The pieces are kept as they came, for who reads them may do so late. */
function listen(socket: Socket, onPiece: () => void = () => {}): { pieces: Buffer[]; length: () => number } {
  const pieces: Buffer[] = [];
  let length = 0;
  socket.on("data", (piece: Buffer) => {
    pieces.push(piece);
    length += piece.length;
    onPiece();
  });
  return { pieces, length: () => length };
}

/** The events of the end of a socket, as they come. */
function endsOf(socket: Socket): string[] {
  const ends: string[] = [];
  socket.on("end", () => ends.push("end"));
  socket.on("error", (error: NodeJS.ErrnoException) => ends.push(error.code ?? ""));
  socket.on("close", () => ends.push("close"));
  return ends;
}

describe("the bytes of a direct socket", () => {
  test("are its own, whole and in order, however many sockets read large answers at once", async () => {
    const [sockets, size] = [32, 300_000];
    const { port } = await startRawServer(async (peer) => {
      const [first] = await once(peer, "data");
      const bytes = bytesOf(Number(String(first)), size);
      // In pieces of all lengths, so that what waits for one socket is never as long as for another.
      for (let at = 0, step = 1; at < size; at += step, step = (step * 7 + bytes.length) % 40_009) {
        peer.write(bytes.subarray(at, at + step));
        await turn();
      }
      peer.end();
    });
    const read = async (owner: number): Promise<Buffer> => {
      const socket = connectDirect({ host: "localhost", port });
      const heard = listen(socket);
      socket.resume().write(`${owner}`);
      await once(socket, "close");
      expect(socket.bytesRead).toBe(size);
      return Buffer.concat(heard.pieces);
    };
    const answers = await Promise.all(Array.from({ length: sockets }, (_, owner) => read(owner)));
    for (const [owner, answer] of answers.entries()) expect(answer.equals(bytesOf(owner, size))).toBe(true);
  });

  test("wait until somebody listens", async () => {
    const { socket, server } = await join();
    const ends = endsOf(socket);
    await new Promise<void>((resolve) => server.write("unasked", () => resolve()));
    server.end();
    for (let turns = 0; turns < 20; turns += 1) await turn();
    expect([socket.bytesRead, ends]).toEqual([0, []]);
    const heard = listen(socket);
    socket.resume();
    await vi.waitFor(() => expect(ends).toEqual(["end", "close"]), waiting);
    expect(String(Buffer.concat(heard.pieces))).toBe("unasked");
  });

  test("are kept alone, however few they are", async () => {
    const { socket, server } = await join();
    const heard = listen(socket);
    socket.resume();
    for (const sofar of [1, 501, 40_501]) {
      server.write(bytesOf(1, sofar - heard.length()));
      await vi.waitFor(() => expect(heard.length()).toBe(sofar), waiting);
    }
    for (const { buffer, length } of heard.pieces) expect(buffer.byteLength).toBe(length);
  });

  test("come from the address that answers, where another of the same name refuses", async () => {
    const server = createServer((peer) => peer.end("hello")).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const addresses = [
      { address: "::1", family: 6 },
      { address: "127.0.0.1", family: 4 },
    ];
    const lookup: LookupFunction = (_, __, callback) => setImmediate(callback, null, addresses);
    const { port } = server.address() as AddressInfo;
    const socket = connectDirect({ host: "both.test", port, lookup, autoSelectFamily: true });
    const attempts: string[] = [];
    socket.on("connectionAttempt", (address) => attempts.push(address));
    const heard = listen(socket);
    socket.resume();
    await once(socket, "close");
    expect([attempts, socket.bytesRead]).toEqual([["::1", "127.0.0.1"], 5]);
    expect(String(Buffer.concat(heard.pieces))).toBe("hello");
  });
});

describe("a direct socket that is paused", () => {
  test("where it hears of bytes gives no more until it is resumed, whatever waits; nothing is lost", async () => {
    const { socket, server } = await join();
    const bytes = bytesOf(1, 3_000_000);
    const ends = endsOf(socket);
    const heard = listen(socket, () => socket.pause());
    socket.resume();
    server.end(bytes);
    let stops = 0;
    while (heard.length() < bytes.length) {
      const before = heard.pieces.length + 1;
      await vi.waitFor(() => expect(heard.pieces).toHaveLength(before), waiting);
      for (let turns = 0; turns < 3; turns += 1) await turn();
      expect(heard.pieces).toHaveLength(before);
      expect([socket.isPaused(), ends]).toEqual([true, []]);
      stops += 1;
      socket.resume();
    }
    expect(stops).toBeGreaterThan(10);
    await vi.waitFor(() => expect(ends).toEqual(["end", "close"]), waiting);
    expect(Buffer.concat(heard.pieces).equals(bytes)).toBe(true);
  });

  test("and resumed in the same moment goes on; resumed and paused again, it does not", async () => {
    const { socket, server } = await join();
    const bytes = bytesOf(1, 1_000_000);
    const heard = listen(socket, () => socket.pause().resume());
    socket.resume();
    server.write(bytes);
    await vi.waitFor(() => expect(heard.length()).toBe(bytes.length), waiting);
    socket.pause();
    socket.resume().pause();
    server.write("late");
    for (let turns = 0; turns < 20; turns += 1) await turn();
    expect(heard.length()).toBe(bytes.length);
    socket.resume();
    await vi.waitFor(() => expect(heard.length()).toBe(bytes.length + 4), waiting);
  });

  test("hears that its peer reset it once it is resumed", async () => {
    const { socket, server } = await join();
    const ends = endsOf(socket);
    const heard = listen(socket, () => socket.pause());
    socket.resume();
    server.write("a");
    await vi.waitFor(() => expect(heard.length()).toBe(1), waiting);
    server.resetAndDestroy();
    await once(server, "close");
    socket.resume();
    await vi.waitFor(() => expect(ends).toEqual(["ECONNRESET", "close"]), waiting);
  });
});

describe("the end of a direct socket", () => {
  test("comes after all bytes, and closes it", async () => {
    const { socket, server } = await join();
    const ends = endsOf(socket);
    const heard = listen(socket, () => expect(ends).toEqual([]));
    socket.resume();
    server.end(bytesOf(1, 500_000));
    await vi.waitFor(() => expect(ends).toEqual(["end", "close"]), waiting);
    expect([heard.length(), socket.readableEnded, socket.destroyed]).toEqual([500_000, true, true]);
  });

  test("of what the peer sends is not that of what is sent to it, where that was asked for", async () => {
    const { socket, server } = await join({ allowHalfOpen: true });
    const [ends, seen] = [endsOf(socket), listen(server)];
    listen(socket);
    socket.resume();
    server.end("bye");
    await vi.waitFor(() => expect(ends).toEqual(["end"]), waiting);
    socket.end("still here");
    await vi.waitFor(() => expect(String(Buffer.concat(seen.pieces))).toBe("still here"), waiting);
    await vi.waitFor(() => expect(ends).toEqual(["end", "close"]), waiting);
  });

  test("by a reset is an error", async () => {
    const { socket, server } = await join();
    const ends = endsOf(socket);
    listen(socket);
    socket.resume();
    server.resetAndDestroy();
    await vi.waitFor(() => expect(ends).toEqual(["ECONNRESET", "close"]), waiting);
  });

  test("from where it hears of bytes is at once, whatever waits, and leaves others alone", async () => {
    const [first, second] = [await join(), await join()];
    const ends = endsOf(first.socket);
    const heard = listen(first.socket, () => first.socket.destroy());
    const other = listen(second.socket);
    first.socket.resume();
    second.socket.resume();
    first.server.write(bytesOf(1, 1_000_000));
    second.server.write(bytesOf(2, 1_000_000));
    await vi.waitFor(() => expect(ends).toEqual(["close"]), waiting);
    await vi.waitFor(() => expect(first.server.destroyed).toBe(true), waiting);
    await vi.waitFor(() => expect(other.length()).toBe(1_000_000), waiting);
    expect([heard.pieces.length, ends]).toEqual([1, ["close"]]);
    expect(Buffer.concat(other.pieces).equals(bytesOf(2, 1_000_000))).toBe(true);
  });
});
