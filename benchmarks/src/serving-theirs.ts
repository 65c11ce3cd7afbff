// A process in which grpc-js serves its own registry, for the benchmark of serving.
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { GrpcJsChannel, GrpcJsServer, GrpcJsSocket, grpcJs } from "./grpc-js-internals.js";
import { serveUntilLetGo } from "./serving-process.js";

const theirServer = new GrpcJsServer();
const sockets = Array.from({ length: 1000 }, () => {
  const socket = new GrpcJsSocket();
  theirServer.sessions.refChild(socket.ref);
  socket.streamTracker.addCallStarted();
  socket.messageReceived();
  socket.messageSent();
  socket.streamTracker.addCallSucceeded();
  return socket;
});
const channels = Array.from({ length: 1000 }, () => {
  const channel = new GrpcJsChannel("dns:///example");
  channel.callTracker.addCallStarted();
  channel.callTracker.addCallSucceeded();
  return channel;
});
const server = new Server({ "grpc.enable_channelz": 0 });
server.addService(grpcJs.getChannelzServiceDefinition() as never, grpcJs.getChannelzHandlers() as never);
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  const ready = { port, serverId: theirServer.ref.id, socketIds: sockets.map(({ ref }) => ref.id) };
  serveUntilLetGo(ready, () => {
    channels.length = 0;
    server.forceShutdown();
  });
});
