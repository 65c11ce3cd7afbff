import type { Transport } from "@connectrpc/connect";
import type { UniversalClientFn } from "@connectrpc/connect/protocol";
import { createTransport } from "@connectrpc/connect/protocol-connect";
import { type AdminTokens, sendTokens } from "./admin-header.js";

export interface FetchTransportOptions extends AdminTokens {
  readonly url: string;
  readonly fetch?: typeof globalThis.fetch | undefined;
}

const largestMessageBytes = 16 * 1024 * 1024;

/** Speaks Connect's own protocol through `fetch`, for methods that take one message. */
export function createFetchTransport({ url, fetch = globalThis.fetch, ...tokens }: FetchTransportOptions): Transport {
  return createTransport({
    httpClient: clientOf(fetch),
    baseUrl: url.replace(/\/+$/, ""),
    useBinaryFormat: true,
    interceptors: [sendTokens(tokens)],
    acceptCompression: [],
    sendCompression: null,
    compressMinBytes: 0,
    readMaxBytes: largestMessageBytes,
    writeMaxBytes: largestMessageBytes,
  });
}

/** The request goes out whole: browsers stream one over HTTP/2 alone. */
function clientOf(fetch: typeof globalThis.fetch): UniversalClientFn {
  return async ({ url, method, header, body, signal }) => {
    const response = await fetch(url, {
      method,
      headers: header,
      ...(signal && { signal }),
      ...(body && { body: await gather(body) }),
    });
    return { status: response.status, header: response.headers, body: chunksOf(response.body), trailer: new Headers() };
  };
}

async function gather(body: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const whole = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole;
}

// Not every browser iterates over a stream by itself.
async function* chunksOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = body.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    // Who stops reading ends the request.
    reader.cancel().catch(() => {});
  }
}
