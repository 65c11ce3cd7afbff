import { once } from "node:events";
import { connect, createServer } from "node:http2";
import { connectChannelz, createRegistry, listenChannelz } from "@wirescope/channelz";
import { observeHttp2Server, observeHttp2Session } from "@wirescope/instrument";

const registry = createRegistry();

const server = createServer((request, response) => {
  response.statusCode = request.url === "/missing" ? 404 : 200;
  response.end("hello");
});
// One call makes a server visible, whatever its handler is ...
observeHttp2Server(registry, server, { name: "hello" });
server.listen(0, "127.0.0.1");
await once(server, "listening");

const session = connect(`http://127.0.0.1:${server.address().port}`);
// ... and one a session.
observeHttp2Session(registry, session);
for (const path of ["/", "/missing", "/again"]) {
  const stream = session.request({ ":path": path });
  stream.resume();
  await once(stream, "close");
}

// Any program on this machine can read it now: wirescope, grpcdebug, or this process itself.
const listener = await listenChannelz(registry);
const channelz = connectChannelz(listener.address);
const [channel] = (await channelz.getTopChannels()).channel;
print("channel", channel.data);
const [serving] = (await channelz.getServers()).server;
print("server", serving.data);
const { subchannel } = await channelz.getSubchannel(channel.subchannelRef[0].subchannelId);
const { socket } = await channelz.getSocket(subchannel.socketRef[0].socketId);
console.log(`socket: ${socket.data.streamsStarted} streams, a window of ${socket.data.localFlowControlWindow} bytes`);

await channelz.close();
session.close();
server.close();
await listener.close();

function print(what, { callsStarted, callsSucceeded, callsFailed }) {
  console.log(`${what}: ${callsStarted} calls, ${callsSucceeded} succeeded, ${callsFailed} failed`);
}
