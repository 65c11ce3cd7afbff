export { type GrpcJsObservation, observeGrpcJs } from "./grpc-js/observe-grpc-js.js";
export {
  type HttpClientsObservation,
  type ObserveHttpClientsOptions,
  observeHttpClients,
} from "./http/observe-clients.js";
export { type ObserveHttpServerOptions, observeHttpServer } from "./http/observe-server.js";
export { type ObserveSessionOptions, observeHttp2Session } from "./http2/observe-client.js";
export { type ObserveServerOptions, observeHttp2Server } from "./http2/observe-server.js";
export { observeServerSession } from "./http2/observe-server-session.js";
export { isObserved, stopObserving } from "./observation.js";
export { type ObserveProcessOptions, observeProcess, type ProcessObservation } from "./process/observe-process.js";
export { whyNoSocketOptions } from "./sockets/native.js";
export { type ObserveUndiciOptions, observeUndici, type UndiciObservation } from "./undici/observe-undici.js";
