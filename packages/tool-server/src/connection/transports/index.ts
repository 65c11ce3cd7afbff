export { createSseTransport } from "./sse-transport.js";
export { createStdioTransport, type StdioContext, type StdioTransport } from "./stdio-transport.js";
export { createStreamableHttpTransport } from "./streamable-http-transport.js";
export {
  defaultLimits,
  type NetworkContext,
  type ToolTransport,
  type TransportContext,
  type TransportLimits,
} from "./transport.js";
export type { KeepAliveTimes } from "./websocket-keep-alive.js";
export { createWebSocketTransport, type WebSocketOptions } from "./websocket-transport.js";
