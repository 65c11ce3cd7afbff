import type { NetworkType } from "../../config/entry.js";
import { createSseTransport } from "./sse-transport.js";
import { createStreamableHttpTransport } from "./streamable-http-transport.js";
import type { NetworkContext, ToolTransport } from "./transport.js";
import { createWebSocketTransport } from "./websocket-transport.js";

/** What makes a transport of each kind over the network. */
export const networkTransports: Readonly<Record<NetworkType, (context: NetworkContext) => ToolTransport>> = {
  http: createStreamableHttpTransport,
  sse: createSseTransport,
  ws: (context) => createWebSocketTransport(context),
};
