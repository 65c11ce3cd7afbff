export { createHttpClient, type HttpClientOptions } from "./create-http-client.js";
export {
  createEventStreamParser,
  type EventStreamOptions,
  type EventStreamParser,
  type StreamEvent,
} from "./event-stream.js";
export type { AnswerHeaders, HttpAnswer, HttpClient, HttpRequest, SocketOptions } from "./http-client.js";
export { isRedirect, sendWithinOrigin } from "./redirects.js";
export { wireOf } from "./socket-wire.js";
export type { TlsSettings } from "./tls-settings.js";
