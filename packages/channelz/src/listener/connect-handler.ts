import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { isIPv6 } from "node:net";
import type { DescMethod } from "@bufbuild/protobuf";
import {
  type ConnectRouter,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type Interceptor,
} from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";
import {
  compressionBrotli,
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import { binaryRequest, isGrpcWebText, textResponse } from "./grpc-web-text.js";

/** A request of Node's HTTP/1.1 or HTTP/2 server. */
export type NodeRequest = IncomingMessage | Http2ServerRequest;
/** A response of Node's HTTP/1.1 or HTTP/2 server. */
export type NodeResponse = ServerResponse | Http2ServerResponse;

/** Connect's router for Node's requests. */
export interface ConnectHandler {
  /** Handles a request; false if the router does not have its path. Never throws. */
  handle(request: NodeRequest, response: NodeResponse, path: string): boolean;
  /** The kind of the method at a path; undefined if the router does not have it. */
  kindOf(path: string): DescMethod["methodKind"] | undefined;
}

/** Set once the message of a request is decoded. */
const isDecoded = createContextKey(false);
const markDecoded: Interceptor = (next) => (request) => {
  request.contextValues.set(isDecoded, true);
  return next(request);
};

/**
 * Adapts Connect's router to Node's requests. connect-node's own adapter throws for an authority that is invalid in a URL, so any
 * peer could end the process, and writes to the console when a client disconnects in the middle of a response.
 */
export function createConnectHandler(routes: (router: ConnectRouter) => void, maxMessageBytes: number): ConnectHandler {
  const router = createConnectRouter({
    acceptCompression: [compressionGzip, compressionBrotli],
    readMaxBytes: maxMessageBytes,
    interceptors: [markDecoded],
  });
  routes(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));

  return {
    kindOf: (path) => handlers.get(path)?.method.methodKind,
    handle(request, response, path) {
      const handler = handlers.get(path);
      if (handler === undefined) return false;
      const endBadRequest = (): void => {
        if (!response.headersSent) response.writeHead(400);
        response.end();
      };
      try {
        addBrackets(request.headers);
        const universalRequest = universalRequestFromNodeRequest(request, response, undefined, createContextValues());
        dispatch(handler, universalRequest)
          .then((reply) => universalResponseToNodeResponse(reply, response))
          .catch(endBadRequest);
      } catch {
        endBadRequest();
      }
      return true;
    },
  };
}

/** Corrects the authority that HTTP/2 clients of Node send for an IPv6 address, such as `::1:4690`, because it is invalid in a URL. */
function addBrackets(headers: NodeRequest["headers"]): void {
  const authority = headers[":authority"];
  if (typeof authority !== "string") return;
  const end = authority.lastIndexOf(":");
  if (isIPv6(authority.slice(0, end))) headers[":authority"] = `[${authority.slice(0, end)}]${authority.slice(end)}`;
}

async function dispatch(handler: UniversalHandler, request: UniversalServerRequest): Promise<UniversalServerResponse> {
  if (isGrpcWebText(request)) return textResponse(await handler(binaryRequest(request)));
  const response = await handler(request);
  // Connect reports a message that it cannot decode as a server error, but it is the client's.
  return response.status === 500 && request.contextValues?.get(isDecoded) !== true ? undecodable : response;
}

const undecodable: UniversalServerResponse = {
  status: 400,
  // Not created with the module: the first use of Headers makes Node load its fetch, which takes 30 ms and blocks the event loop.
  get header() {
    return new Headers({ "content-type": "application/json" });
  },
  get body() {
    return bytesOf(
      '{"code":"invalid_argument","message":"The request cannot be decoded as a message of this method."}',
    );
  },
};

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
