import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";

export interface Load {
  readonly method: "GetSocket" | "GetTopChannels" | "GetServerSockets";
  /** What the calls ask for, in turn. */
  readonly ids: readonly number[];
}

/**
 * Makes calls over one HTTP/2 connection, always so many at once, and returns how many a second were answered. As lean as a
 * client can be, so that what is measured is the server.
 */
export async function runLoad(port: number, load: Load, inFlight: number, count: number): Promise<number> {
  const session = connect(`http://127.0.0.1:${port}`);
  await once(session, "connect");
  const requests = load.ids.map((id) => frame(load.method, id));
  let next = 0;
  const start = process.hrtime.bigint();
  const workers = Array.from({ length: inFlight }, async () => {
    while (next < count) {
      const request = requests[next % requests.length]!;
      next += 1;
      await call(session, load.method, request);
    }
  });
  await Promise.all(workers);
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  session.close();
  return count / seconds;
}

function call(session: ClientHttp2Session, method: string, body: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":method": "POST",
      ":path": `/grpc.channelz.v1.Channelz/${method}`,
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
      if (status === "0" && bytes > 5) resolve();
      else reject(new Error(`${method} ended with status ${String(status)} and ${bytes} bytes.`));
    });
    stream.end(body);
  });
}

/** Ids are small here: one varint of up to three bytes. GetServerSockets and GetSocket ask by field 1, pages start there. */
function frame(method: Load["method"], id: number): Buffer {
  const fields: number[] = [];
  if (id > 0) {
    fields.push(0x08);
    for (let rest = id; ; rest >>>= 7) {
      fields.push(rest > 0x7f ? (rest & 0x7f) | 0x80 : rest);
      if (rest <= 0x7f) break;
    }
  }
  if (method !== "GetSocket") fields.push(method === "GetTopChannels" ? 0x10 : 0x18, 100);
  const message = Buffer.alloc(5 + fields.length);
  message.writeUInt32BE(fields.length, 1);
  message.set(fields, 5);
  return message;
}
