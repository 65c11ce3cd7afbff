// A process that serves a registry of ours, for the benchmark of serving.
import { createRegistry, listenChannelz } from "@wirescope/channelz";
import { serveUntilLetGo } from "./serving-process.js";

const registry = createRegistry();
const server = registry.addServer();
const sockets = Array.from({ length: 1000 }, () => {
  const socket = registry.addSocket({
    server,
    name: "127.0.0.1:443",
    local: { ip: "127.0.0.1", port: 50_000 },
    remote: { ip: "127.0.0.1", port: 443 },
  });
  socket.remoteStreamStarted();
  socket.messageReceived();
  socket.messageSent();
  socket.streamSucceeded();
  return socket;
});
const channels = Array.from({ length: 1000 }, () => {
  const channel = registry.addChannel({ name: "dns:///example", target: "dns:///example" });
  channel.setState("CONNECTING");
  channel.callStarted();
  channel.callSucceeded();
  return channel;
});
const listener = await listenChannelz(registry);
const ready = {
  port: Number(listener.address.split(":").at(-1)),
  serverId: server.id,
  socketIds: sockets.map(({ id }) => id),
};
serveUntilLetGo(ready, () => {
  for (const one of [...sockets, ...channels]) one.close();
  void listener.close();
});
