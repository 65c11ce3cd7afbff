import { once } from "node:events";
import { createServer } from "node:http2";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { connectNodeAdapter, createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { connectChannelz, createRegistry, listenChannelz } from "@wirescope/channelz";
import { observeHttp2Server } from "@wirescope/instrument";
import { observeTransport } from "@wirescope/instrument/connect-node";
import { Shop } from "./shop.js";

const registry = createRegistry();

const handler = connectNodeAdapter({
  routes(router) {
    router.service(Shop, {
      async buy({ value }, { signal }) {
        if (value === "pears") throw new ConnectError("sold out", Code.NotFound);
        if (value === "melons") await once(signal, "abort");
        return { value: `fresh ${value}` };
      },
    });
  },
});

// A Connect server is a Node server: one call.
const server = createServer(handler);
observeHttp2Server(registry, server, { name: "shop" });
server.listen(0, "127.0.0.1");
await once(server, "listening");
const baseUrl = `http://127.0.0.1:${server.address().port}`;

// A transport: one call around its options.
const sessionManager = new Http2SessionManager(baseUrl);
const transport = createGrpcTransport(observeTransport(registry, { baseUrl, sessionManager }, { name: "to the shop" }));
const shop = createClient(Shop, transport);

const buy = (value, options) =>
  shop.buy({ value }, options).then(
    (bought) => console.log(bought.value),
    (error) => console.log(error.message),
  );
await buy("apples");
await buy("pears");
await buy("melons", { signal: AbortSignal.timeout(50) });

// Any program on this machine can read it now: wirescope, grpcdebug, or this process itself.
const listener = await listenChannelz(registry);
const channelz = connectChannelz(listener.address);
const [channel] = (await channelz.getTopChannels()).channel;
const { subchannel } = await channelz.getSubchannel(channel.subchannelRef[0].subchannelId);
const { socket } = await channelz.getSocket(subchannel.socketRef[0].socketId);
const [serving] = (await channelz.getServers()).server;
const [{ socketId }] = (await channelz.getServerSockets(serving.ref.serverId)).socketRef;
const { socket: accepted } = await channelz.getSocket(socketId);
for (const { ref, data } of [channel, serving]) {
  console.log(`${ref.name}: ${data.callsStarted} calls, ${data.callsSucceeded} succeeded, ${data.callsFailed} failed`);
}
for (const [end, { data }] of [
  ["client", socket],
  ["server", accepted],
]) {
  console.log(
    `${end}: ${data.streamsStarted} streams, ${data.streamsSucceeded} succeeded, ${data.streamsFailed} failed; ` +
      `${data.messagesSent} messages sent, ${data.messagesReceived} received`,
  );
}

await channelz.close();
await listener.close();
sessionManager.abort();
server.close();
