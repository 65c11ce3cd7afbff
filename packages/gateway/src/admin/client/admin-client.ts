import { type CallOptions, type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import type { UniversalClientFn } from "@connectrpc/connect/protocol";
import { createTransport } from "@connectrpc/connect/protocol-connect";
import { AdminService, type Failure, FailureSchema } from "../../gen/wirescope/v1/admin_pb.js";
import { type AdminTokens, sendTokens } from "./admin-header.js";

/** The methods of the service. They reject with a ConnectError, which `readAdminError` takes apart. */
export type AdminClient = Client<typeof AdminService>;

/** How a gateway is reached. */
export interface AdminClientOptions extends AdminTokens {
  /** The base URL of the gateway, such as `http://127.0.0.1:4690`. */
  readonly url: string;
  /** Default: that of the platform. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** A client for the administration of a gateway, for browsers and for Node; or one over a transport of Connect's. */
export function createAdminClient(options: AdminClientOptions | Transport): AdminClient {
  const client = createClient(AdminService, "unary" in options ? options : createFetchTransport(options));
  return {
    ...client,
    watchServers: (request, given) => endWithLoop((call) => client.watchServers(request, call), given),
    signIn: (request, given) => endWithLoop((call) => client.signIn(request, call), given),
  };
}

/** Why a method failed. */
export interface AdminError {
  /** The status of the call, such as `NotFound`. */
  readonly status: keyof typeof Code;
  /** What is wrong and what to do, for people. */
  readonly message: string;
  /** What the gateway has besides: its own code. Undefined where it has none. */
  readonly failure: Failure | undefined;
}

/** What a method rejected with. What is no failure of a call has the status `Unknown`. */
export function readAdminError(error: unknown): AdminError {
  const read = ConnectError.from(error);
  const status = Code[read.code] as keyof typeof Code;
  return { status, message: read.rawMessage, failure: read.findDetails(FailureSchema)[0] };
}

/**
 * Opens a stream for a loop, and ends it with the loop, however that is left. Connect's own goes on until its signal aborts: it would keep
 * a process alive, and the gateway at work for nobody.
 */
export async function* endWithLoop<Message>(
  open: (options: CallOptions) => AsyncIterable<Message>,
  options: CallOptions = {},
): AsyncGenerator<Message, void> {
  const left = new AbortController();
  const signal = options.signal === undefined ? left.signal : AbortSignal.any([options.signal, left.signal]);
  try {
    yield* open({ ...options, signal });
  } finally {
    left.abort();
  }
}

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
