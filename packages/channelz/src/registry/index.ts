export type { Clock } from "./clock.js";
export type { ConnectivityState } from "./connectivity.js";
export type { DroppedObject } from "./drop-watch.js";
export type {
  ChannelHandle,
  ServerHandle,
  SocketHandle,
  SubchannelHandle,
  TraceOptions,
} from "./handles.js";
export type { TraceSeverity } from "./records.js";
export {
  type ChannelInit,
  createRegistry,
  type ListenSocketInit,
  type Registry,
  type RegistryOptions,
  type ServerInit,
  type SocketInit,
  type SubchannelInit,
} from "./registry.js";
export type {
  AnyPayload,
  SocketAddress,
  SocketDescriber,
  SocketDetails,
  SocketEndpoints,
  SocketOptionInit,
  SocketSecurity,
} from "./socket-details.js";
export { lingerOption, type TcpInfo, tcpInfoOption, timeoutOption } from "./socket-options.js";
export type { RegistrySize } from "./store.js";
