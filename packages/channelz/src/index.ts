export { type ChannelzPackage, channelzPackages } from "./channelz-package.js";
export * from "./client/index.js";
export { type ChannelzConnection, type ConnectChannelzOptions, connectChannelz } from "./dial/connect.js";
export type { DialTlsOptions } from "./dial/open-socket.js";
export { parseTarget, type Target, type TcpTarget, type UnixTarget } from "./dial/parse-target.js";
export type { EncodedRead, EncodedSource } from "./encoded-source.js";
export { ChannelzError, type ChannelzErrorCode } from "./errors.js";
export type { ListenerStats } from "./listener/connections.js";
export type { CorsAdditions } from "./listener/cors.js";
export type { Fallback } from "./listener/http-front.js";
export type { ListenLimits } from "./listener/limits.js";
export {
  type ChannelzListener,
  type CloseOptions,
  type ListenObserver,
  type ListenOptions,
  listenChannelz,
} from "./listener/listen.js";
export type { ListenTls } from "./listener/tls-front.js";
export { type RedactOptions, redactSource } from "./redact.js";
export type { Clock } from "./registry/clock.js";
export type { ConnectivityState } from "./registry/connectivity.js";
export type { DroppedObject } from "./registry/drop-watch.js";
export type {
  ChannelHandle,
  ServerHandle,
  SocketHandle,
  SubchannelHandle,
  TraceOptions,
} from "./registry/handles.js";
export {
  type ChannelInit,
  createRegistry,
  type ListenSocketInit,
  type Registry,
  type RegistryOptions,
  type ServerInit,
  type SocketInit,
  type SubchannelInit,
} from "./registry/registry.js";
export type {
  AnyPayload,
  SocketAddress,
  SocketDescriber,
  SocketDetails,
  SocketEndpoints,
  SocketOptionInit,
  SocketSecurity,
} from "./registry/socket-details.js";
export { lingerOption, tcpInfoOption, timeoutOption } from "./registry/socket-options.js";
export type { RegistrySize } from "./registry/store.js";
export type { TraceSeverity } from "./registry/trace.js";
export { channelzFile, channelzService, payloadRegistry } from "./schema.js";
export { channelzRoutes } from "./service/connect-routes.js";
export { createHealth, type Health, type HealthOptions, healthRoutes, type ServingStatus } from "./service/health.js";
export { type ReflectionOptions, reflectionRoutes } from "./service/reflection.js";
export type { Int64, PageRequest, ReadOptions, Source } from "./source.js";
