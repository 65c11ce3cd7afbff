export type { ListenerStats } from "./connections.js";
export type { CorsAdditions } from "./cors.js";
export type { MoreServices } from "./create-services.js";
export type { ListenLimits } from "./limits.js";
export {
  type ChannelzListener,
  type CloseOptions,
  type ListenObserver,
  type ListenOptions,
  listenChannelz,
} from "./listen.js";
export type { ListenTls, PemFile, TlsChange, TlsExpiry } from "./listen-tls.js";
export { PostAnswer } from "./posts/post-answer.js";
export type { PostHandler, PostObserver } from "./posts/post-lane.js";
export { WholePost } from "./posts/whole-post.js";
export type { Fallback } from "./reception.js";
