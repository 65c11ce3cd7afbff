export {
  type EndpointHints,
  listenAddress,
  localAddress,
  readEndpoints,
  remoteAddress,
  unixAddress,
} from "./addresses.js";
export { describeListenSocket, describeSocket } from "./describe-socket.js";
export { loadSocketOptions, whyNoSocketOptions } from "./native.js";
export { listenSocketOptions, socketOptions } from "./options.js";
export { isTls, tlsSecurity } from "./tls.js";
