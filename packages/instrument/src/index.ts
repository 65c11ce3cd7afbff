export { type GrpcJsObservation, observeGrpcJs } from "./grpc-js/index.js";
export { type ObserveSessionOptions, observeHttp2Session } from "./http2/observe-client.js";
export { type ObserveServerOptions, observeHttp2Server, observeServerSession } from "./http2/observe-server.js";
export * from "./sockets/index.js";
