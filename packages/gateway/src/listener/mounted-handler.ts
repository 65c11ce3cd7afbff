import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestCheck } from "@wirescope/channelz/listener";
import type { EndpointContext } from "../endpoint/endpoint-context.js";
import { endFailed, httpError, refuse, shuttingDown } from "../endpoint/http-messages.js";
import { createMcpEndpoint } from "../endpoint/mcp-endpoint.js";

/** Handles a request of the program's own HTTP server. */
export type MountedHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** Creates the handler of Streamable HTTP for a server of the program, which decides about the path. */
export function createMountedHandler(context: EndpointContext, check: RequestCheck): MountedHandler {
  const mcp = createMcpEndpoint(context);
  return (request, response) => {
    // A client that disconnects must not end the process.
    request.on("error", () => {});
    response.on("error", () => {});
    if (!check(request, response)) return;
    try {
      // Messages that calls in flight may wait for are accepted until the end.
      if (context.isClosing() && request.method !== "POST") refuse(request, response, shuttingDown());
      else if (request.method === "POST" && request.readableEnded)
        refuse(request, response, httpError(500, bodyWasRead));
      else mcp(request, response);
    } catch (error) {
      endFailed(context, request, response, error);
    }
  };
}

const bodyWasRead =
  "The body was read before the gateway. Mount gateway.handler before a parser of bodies such as express.json().";
