import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { DescMethod } from "@bufbuild/protobuf";
import { type ConnectRouter, createConnectRouter } from "@connectrpc/connect";
import {
  compressionBrotli,
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";

/** A request of either version, as Node's servers hand it to their listeners. */
export type NodeRequest = IncomingMessage | Http2ServerRequest;
/** The response that belongs to it. */
export type NodeResponse = ServerResponse | Http2ServerResponse;

/** Connect's router on Node's requests. */
export interface ConnectHandler {
  /** Handles a request if its path is one of the router's; false where it is not. Never throws. */
  handle(request: NodeRequest, response: NodeResponse, path: string): boolean;
  /** What kind of method a path is, or undefined where it is none of the router's. */
  kindOf(path: string): DescMethod["methodKind"] | undefined;
}

/**
 * Puts Connect's router on Node's requests. connect-node's own adapter throws for an authority that is no URL's, which
 * would let any peer end the process, and writes to the console when a caller goes away in the middle of an answer.
 */
export function createConnectHandler(routes: (router: ConnectRouter) => void, maxMessageBytes: number): ConnectHandler {
  const router = createConnectRouter({
    acceptCompression: [compressionGzip, compressionBrotli],
    readMaxBytes: maxMessageBytes,
  });
  routes(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));

  return {
    kindOf: (path) => handlers.get(path)?.method.methodKind,
    handle(request, response, path) {
      const handler = handlers.get(path);
      if (handler === undefined) return false;
      const giveUp = (): void => {
        if (!response.headersSent) response.writeHead(400);
        response.end();
      };
      try {
        handler(universalRequestFromNodeRequest(request, response, undefined, undefined))
          .then((answer) => universalResponseToNodeResponse(answer, response))
          .catch(giveUp);
      } catch {
        giveUp();
      }
      return true;
    },
  };
}
