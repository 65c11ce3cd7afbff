// A process with many objects, of which a third changes each second: node page-target-server.js <objects>
import { createRegistry, listenChannelz } from "@wirescope/channelz";
import { serveUntilLetGo } from "./serving-process.js";

const objects = Number(process.argv[2]);
const registry = createRegistry();
const server = registry.addServer({ name: "main" });
const ip = "127.0.0.1";
// A quarter each: channels, subchannels, their connections, and connections of clients.
const chains = Array.from({ length: Math.floor(objects / 4) }, (_, n) => {
  const channel = registry.addChannel({ target: `dns:///service-${n}.example:443`, state: "READY" });
  const address = `10.0.${n >> 8}.${n & 255}`;
  const subchannel = registry.addSubchannel({ parent: channel, target: `${address}:443`, state: "READY" });
  const local = { ip, port: 20_000 + n };
  const socket = registry.addSocket({ parent: subchannel, local, remote: { ip: address, port: 443 } });
  return { channel, subchannel, socket };
});
const clients = Array.from({ length: objects - 3 * chains.length - 1 }, (_, n) =>
  registry.addSocket({ server, local: { ip, port: 8080 }, remote: { ip, port: 30_000 + n } }),
);

let turn = 0;
const timer = setInterval(() => {
  turn += 1;
  for (const [n, { channel, subchannel, socket }] of chains.entries()) {
    if (n % 12 !== turn % 12) continue;
    channel.callStarted();
    subchannel.callStarted();
    socket.localStreamStarted();
    socket.streamSucceeded();
    subchannel.callSucceeded();
    channel.callSucceeded();
    if (n % 120 === turn % 120) subchannel.setState(turn % 2 === 0 ? "READY" : "CONNECTING");
  }
  for (const [n, client] of clients.entries()) {
    if (n % 12 !== turn % 12) continue;
    client.remoteStreamStarted();
    client.messageReceived();
    client.streamSucceeded();
  }
}, 250);

const listener = await listenChannelz(registry);
serveUntilLetGo({ port: Number(listener.address.split(":").at(-1)) }, () => {
  clearInterval(timer);
  void listener.close({ deadlineMs: 0 }).then(() => process.exit());
});
