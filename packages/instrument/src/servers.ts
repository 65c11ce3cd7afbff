export { type ObserveHttpServerOptions, observeHttpServer } from "./http/observe-server.js";
export { observeServerSession } from "./http2/observe-server-session.js";
export { listenAddress } from "./sockets/addresses.js";
export { describeListenSocket } from "./sockets/describe-socket.js";
