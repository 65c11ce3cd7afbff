import { type CallOptions, type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import type { UniversalClientFn } from "@connectrpc/connect/protocol";
import { createTransport } from "@connectrpc/connect/protocol-connect";
import { AdminService, type Failure, FailureSchema } from "../../gen/wirescope/v1/admin_pb.js";
import { CallService } from "../../gen/wirescope/v1/calls_pb.js";
import { PageService } from "../../gen/wirescope/v1/page_pb.js";
import { type AdminTokens, sendTokens } from "./admin-header.js";

/** The methods of the service. They reject with a ConnectError, see `readAdminError`. */
export type AdminClient = Client<typeof AdminService>;

/** How to reach a gateway. */
export interface AdminClientOptions extends AdminTokens {
  /** The base URL of the gateway, such as `http://127.0.0.1:4690`. */
  readonly url: string;
  /** Default: `globalThis.fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** Creates a client for the administration service of a gateway, for browsers and Node, or over a Connect transport. */
export function createAdminClient(options: AdminClientOptions | Transport): AdminClient {
  const client = createClient(AdminService, "unary" in options ? options : createFetchTransport(options));
  return {
    ...client,
    watchServers: (request, given) => endWithLoop((call) => client.watchServers(request, call), given),
    explain: (request, given) => endWithLoop((call) => client.explain(request, call), given),
    signIn: (request, given) => endWithLoop((call) => client.signIn(request, call), given),
  };
}

/** The methods of the call log. They reject with a ConnectError, see `readAdminError`. */
export type CallClient = Client<typeof CallService>;

/** Creates a client for the call log of a gateway, for browsers and Node, or over a Connect transport. */
export function createCallClient(options: AdminClientOptions | Transport): CallClient {
  const client = createClient(CallService, "unary" in options ? options : createFetchTransport(options));
  return { ...client, watchCalls: (request, given) => endWithLoop((call) => client.watchCalls(request, call), given) };
}

/** The method of the page's one stream. It rejects with a ConnectError. */
export type PageClient = Client<typeof PageService>;

/** Creates a client for what the page of a gateway shows, over a Connect transport. */
export function createPageClient(transport: Transport): PageClient {
  const client = createClient(PageService, transport);
  return { watch: (request, given) => endWithLoop((call) => client.watch(request, call), given) };
}

/** Why a method failed. */
export interface AdminError {
  /** The status of the call, such as `NotFound`. */
  readonly status: keyof typeof Code;
  /** What failed and what to do. */
  readonly message: string;
  /** Details with the gateway's error code. Undefined if it has none. */
  readonly failure: Failure | undefined;
}

/** Reads the error of a method. An error that is not a ConnectError has the status `Unknown`. */
export function readAdminError(error: unknown): AdminError {
  const read = ConnectError.from(error);
  const status = Code[read.code] as keyof typeof Code;
  return { status, message: read.rawMessage, failure: read.findDetails(FailureSchema)[0] };
}

/**
 * Opens a stream for a `for await` loop, and closes it when the loop ends. Connect keeps a stream open until its signal aborts, which
 * would keep the process alive and the gateway busy.
 */
async function* endWithLoop<Message>(
  open: (options: CallOptions) => AsyncIterable<Message>,
  options: CallOptions = {},
): AsyncGenerator<Message, void> {
  const controller = new AbortController();
  const signal =
    options.signal === undefined ? controller.signal : AbortSignal.any([options.signal, controller.signal]);
  try {
    yield* open({ ...options, signal });
  } finally {
    controller.abort();
  }
}

const maxMessageBytes = 16 * 1024 * 1024;

/** A transport for the Connect protocol over `fetch`, for methods with a single request message. */
function createFetchTransport({ url, fetch = globalThis.fetch, ...tokens }: AdminClientOptions): Transport {
  return createTransport({
    httpClient: clientOf(fetch),
    baseUrl: url.replace(/\/+$/, ""),
    useBinaryFormat: true,
    interceptors: [sendTokens(tokens)],
    acceptCompression: [],
    sendCompression: null,
    compressMinBytes: 0,
    readMaxBytes: maxMessageBytes,
    writeMaxBytes: maxMessageBytes,
  });
}

/** The request is buffered: browsers can stream one only over HTTP/2. */
function clientOf(fetch: typeof globalThis.fetch): UniversalClientFn {
  return async ({ url, method, header, body, signal }) => {
    const response = await fetch(url, {
      method,
      headers: header,
      ...(signal && { signal }),
      ...(body && { body: await collect(body) }),
    });
    return { status: response.status, header: response.headers, body: chunksOf(response.body), trailer: new Headers() };
  };
}

async function collect(body: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
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

// Not every browser supports `for await` over a stream.
async function* chunksOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = body.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    // A caller that stops reading ends the request.
    reader.cancel().catch(() => {});
  }
}
