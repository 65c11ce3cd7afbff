export type { ListenerStats } from "./connections.js";
export type { CorsAdditions } from "./cors.js";
export type { MoreServices } from "./create-services.js";
export type { Admission } from "./guard.js";
export type { ConnectionShortage, ListenLimits } from "./limits.js";
export {
  type ChannelzListener,
  type CloseOptions,
  type ListenObserver,
  type ListenOptions,
  listenChannelz,
  type OpenListener,
} from "./listen.js";
export type { ListenTls, PemFile, TlsChange, TlsExpiry } from "./listen-tls.js";
export { createRequestCheck, type RequestCheck, type RequestCheckOptions } from "./request-check.js";
export type { Fallback } from "./request-pipeline.js";
