import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { grpcCode } from "../service/grpc-code.js";
import { checkTimeout } from "../service/grpc-status.js";
import type { RpcStatus } from "../service/rpc-status.js";
import type { NodeRequest, NodeResponse } from "./connect-handler.js";
import type { Connection, Http1Pair, ServedRequest } from "./connection.js";
import type { Connections } from "./connections.js";
import { type CorsAdditions, corsHeaders, preflightHeaders } from "./cors.js";
import type { Guard, GuardedRequest } from "./guard.js";
import type { LazyServices } from "./lazy-services.js";
import type { ListenLimits } from "./limits.js";
import { type StatusResponse, statusResponse } from "./status-response.js";

/** Handles a request that is neither Channelz nor one of the other routes. */
export type Fallback = (request: NodeRequest, response: NodeResponse) => void;

export interface PipelineOptions {
  readonly connections: Connections;
  readonly limits: ListenLimits;
  readonly guard: Guard;
  readonly services: LazyServices;
  readonly fallback: Fallback | undefined;
  readonly publicPaths: ReadonlySet<string>;
  readonly cors: CorsAdditions | undefined;
  readonly isEncrypted: boolean;
}

/** The parts of a request that its headers contain. */
export interface ReceivedRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly url: string;
  /** Whether it has more than one Host header. Default false. */
  readonly hasSeveralHosts?: boolean;
}

/** The steps for all requests, over HTTP/1.1 and HTTP/2. */
export interface RequestPipeline {
  /** Checks a request with the guard, and counts it. */
  receive(
    connection: Connection,
    carrier: { readonly stream: ServerHttp2Stream } | { readonly http1: Http1Pair },
    request: ReceivedRequest,
  ): ServedRequest;
  /** The response to a request that is not dispatched: rejected, too large, a preflight, or for an unknown path. */
  earlyResponse(servedRequest: ServedRequest): StatusResponse | undefined;
  /** Passes a request to its handler. */
  dispatch(servedRequest: ServedRequest, request: NodeRequest, response: NodeResponse): void;
}

const frameHeaderBytes = 5;

/** The content types of gRPC, gRPC-Web and Connect, except application/json, which others use as well. */
const rpcType = /^application\/(grpc|connect\+|proto\b)/i;

export function createRequestPipeline(options: PipelineOptions): RequestPipeline {
  const { connections, limits, guard, services, fallback, publicPaths, cors, isEncrypted } = options;
  const { counters } = connections;

  function earlyStatus({ headers, path }: GuardedRequest): RpcStatus | undefined {
    if (services.isAwaited(path)) {
      return {
        code: grpcCode.unavailable,
        message: "The services cannot be loaded. See the warning of the serving process.",
      };
    }
    const kind = services.current?.connect.kindOf(path);
    const isRpc = rpcType.test(headers["content-type"] ?? "");
    // The fallback does not handle RPC protocols.
    if (kind === undefined && (fallback === undefined || isRpc)) {
      const message = isRpc ? `The method ${path.slice(0, 200)} does not exist.` : "Nothing is served at this path.";
      return { code: grpcCode.unimplemented, message };
    }
    const timeoutError = kind !== undefined && isRpc ? checkTimeout(headers) : undefined;
    if (timeoutError !== undefined) return timeoutError;
    // Connect limits what it reads; a body whose Content-Length is too large need not be read.
    if (kind !== "unary" && kind !== "server_streaming") return undefined;
    if (Number(headers["content-length"] ?? 0) <= limits.maxMessageBytes + frameHeaderBytes) return undefined;
    counters.requestsTooLarge++;
    const message = `The request is larger than ${limits.maxMessageBytes} bytes, the limit of this listener.`;
    return { code: grpcCode.resourceExhausted, message };
  }

  return {
    receive(connection, carrier, { method, headers, url, hasSeveralHosts = false }) {
      const stream = "stream" in carrier ? carrier.stream : undefined;
      const path = pathOf(url);
      const kind = services.current?.connect.kindOf(path);
      const mayStayOpen = kind === "client_streaming" || kind === "bidi_streaming";
      const httpVersion = stream === undefined ? 1 : 2;
      const isPublic = publicPaths.has(path);
      const guarded: GuardedRequest = { httpVersion, method, path, headers, isEncrypted, isPublic, hasSeveralHosts };
      const servedRequest: ServedRequest = {
        connection,
        stream,
        http1: "http1" in carrier ? carrier.http1 : undefined,
        guarded,
        url,
        verdict: guard(guarded),
        startedAt: performance.now(),
        receiveTimeoutMs: mayStayOpen ? limits.idleTimeoutMs : limits.requestTimeoutMs,
        stalledSince: undefined,
        bytesWritten: 0,
        bytesRead: 0,
        isGivenUp: false,
      };
      connections.begin(servedRequest);
      return servedRequest;
    },
    earlyResponse({ guarded, url, verdict }) {
      if (verdict.outcome === "preflight") {
        return { statusCode: 204, headers: preflightHeaders(verdict.origin, cors), body: Buffer.alloc(0) };
      }
      const status = verdict.outcome === "refuse" ? verdict.status : earlyStatus(guarded);
      if (status === undefined) return undefined;
      if (verdict.outcome === "refuse") counters.requestsRefused++;
      const reply = statusResponse(status, guarded.method, guarded.headers, url);
      return { ...reply, headers: { ...reply.headers, ...(verdict.origin && corsHeaders(verdict.origin, cors)) } };
    },
    dispatch({ guarded, verdict: { origin } }, request, response) {
      if (origin !== undefined) {
        for (const [name, value] of Object.entries(corsHeaders(origin, cors))) response.setHeader(name, value);
      }
      if (services.current?.connect.handle(request, response, guarded.path) !== true) fallback?.(request, response);
    },
  };
}

function pathOf(url: string): string {
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}
