import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";

/** What a load calls: a path, and the request messages that it sends in turn. */
export interface Load {
  readonly path: string;
  readonly requests: readonly Uint8Array[];
}

export interface LoadResult {
  readonly callsPerSecond: number;
  /** The time in milliseconds that 99 of 100 calls did not exceed. */
  readonly p99Ms: number;
}

/**
 * Makes unary gRPC calls over one HTTP/2 connection, always so many at once. As lean as a client can be, so that what is
 * measured is the server.
 */
export async function runLoad(port: number, load: Load, inFlight: number, count: number): Promise<LoadResult> {
  const session = connect(`http://127.0.0.1:${port}`);
  await once(session, "connect");
  const frames = load.requests.map(frame);
  const latencies = new Float64Array(count);
  let next = 0;
  const start = performance.now();
  const workers = Array.from({ length: inFlight }, async () => {
    while (next < count) {
      const index = next;
      next += 1;
      const begun = performance.now();
      await call(session, load.path, frames[index % frames.length]!);
      latencies[index] = performance.now() - begun;
    }
  });
  await Promise.all(workers);
  const seconds = (performance.now() - start) / 1000;
  session.close();
  return { callsPerSecond: count / seconds, p99Ms: latencies.sort()[Math.floor(count * 0.99)]! };
}

function call(session: ClientHttp2Session, path: string, body: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
    });
    let status: unknown;
    let bytes = 0;
    stream.on("response", (headers) => {
      status = headers["grpc-status"];
    });
    stream.on("trailers", (trailers) => {
      status = trailers["grpc-status"];
    });
    stream.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    stream.on("error", reject);
    stream.on("close", () => {
      if (status === "0" && bytes >= 5) resolve();
      else reject(new Error(`${path} ended with status ${String(status)} and ${bytes} bytes.`));
    });
    stream.end(body);
  });
}

function frame(message: Uint8Array): Buffer {
  const framed = Buffer.alloc(5 + message.length);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, 5);
  return framed;
}
