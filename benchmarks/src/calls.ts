import { createRegistry } from "@wirescope/channelz";
import { compare } from "./compare.js";
import { GrpcJsChannel, GrpcJsServer, GrpcJsSocket } from "./grpc-js-internals.js";
import { costRow, type Row } from "./report.js";

/** What it costs to count one unary call on everything that it passes through. */
export async function benchCalls(): Promise<Row[]> {
  const registry = createRegistry();
  const channel = registry.addChannel({ target: "dns:///example" });
  const subchannel = registry.addSubchannel({ parent: channel, target: "127.0.0.1:443" });
  const socket = registry.addSocket({ parent: subchannel });
  const server = registry.addServer();
  const serverSocket = registry.addSocket({ server });

  const theirChannel = new GrpcJsChannel("dns:///example");
  const theirSubchannel = new GrpcJsChannel("127.0.0.1:443");
  const theirSocket = new GrpcJsSocket();
  const theirServer = new GrpcJsServer();
  const theirServerSocket = new GrpcJsSocket();

  const tracker = await compare(
    (count) => {
      for (let i = 0; i < count; i += 1) {
        channel.callStarted();
        channel.callSucceeded();
      }
    },
    (count) => {
      for (let i = 0; i < count; i += 1) {
        theirChannel.callTracker.addCallStarted();
        theirChannel.callTracker.addCallSucceeded();
      }
    },
    100_000,
  );
  const client = await compare(
    (count) => {
      for (let i = 0; i < count; i += 1) {
        channel.callStarted();
        subchannel.callStarted();
        socket.localStreamStarted();
        socket.messageSent();
        socket.messageReceived();
        socket.streamSucceeded();
        subchannel.callSucceeded();
        channel.callSucceeded();
      }
    },
    (count) => {
      for (let i = 0; i < count; i += 1) {
        theirChannel.callTracker.addCallStarted();
        theirSubchannel.callTracker.addCallStarted();
        theirSocket.streamTracker.addCallStarted();
        theirSocket.messageSent();
        theirSocket.messageReceived();
        theirSocket.streamTracker.addCallSucceeded();
        theirSubchannel.callTracker.addCallSucceeded();
        theirChannel.callTracker.addCallSucceeded();
      }
    },
    100_000,
  );
  const serving = await compare(
    (count) => {
      for (let i = 0; i < count; i += 1) {
        server.callStarted();
        serverSocket.remoteStreamStarted();
        serverSocket.messageReceived();
        serverSocket.messageSent();
        serverSocket.streamSucceeded();
        server.callSucceeded();
      }
    },
    (count) => {
      for (let i = 0; i < count; i += 1) {
        theirServer.callTracker.addCallStarted();
        theirServerSocket.streamTracker.addCallStarted();
        theirServerSocket.messageReceived();
        theirServerSocket.messageSent();
        theirServerSocket.streamTracker.addCallSucceeded();
        theirServer.callTracker.addCallSucceeded();
      }
    },
    100_000,
  );
  for (const one of [channel, subchannel, socket, server, serverSocket]) one.close();
  return [
    costRow("one call, started and finished, on one object", "ns", tracker.ours, tracker.theirs, tracker.ratio),
    costRow("unary call on a client: 3 objects, 2 messages", "ns", client.ours, client.theirs, client.ratio, 1 / 8),
    costRow("unary call on a server: 2 objects, 2 messages", "ns", serving.ours, serving.theirs, serving.ratio, 1 / 8),
  ];
}
