import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import { connectChannelz, createRegistry, listenChannelz } from "@wirescope/channelz";
import { observeGrpcJs } from "@wirescope/instrument";

// These two lines, and the listener below, are all that an application adds.
const registry = createRegistry();
const observation = observeGrpcJs(registry);

const text = { serialize: (value) => Buffer.from(value), deserialize: (bytes) => bytes.toString() };
const greeter = {
  greet: {
    path: "/example.Greeter/Greet",
    requestStream: false,
    responseStream: false,
    requestSerialize: text.serialize,
    requestDeserialize: text.deserialize,
    responseSerialize: text.serialize,
    responseDeserialize: text.deserialize,
  },
};

const folder = mkdtempSync(join(tmpdir(), "wirescope-"));
const target = `unix:${join(folder, "greeter.sock")}`;
const server = new grpc.Server();
server.addService(greeter, {
  greet({ request: name }, done) {
    if (name === "nobody") done({ code: grpc.status.INVALID_ARGUMENT, details: "whom?" });
    else if (name !== "sleeper") done(null, `Hello ${name}`);
  },
});
await new Promise((resolve, reject) => {
  server.bindAsync(target, grpc.ServerCredentials.createInsecure(), (error) => (error ? reject(error) : resolve()));
});

const Greeter = grpc.makeGenericClientConstructor(greeter, "Greeter");
const client = new Greeter(target, grpc.credentials.createInsecure());
const greet = (name) =>
  new Promise((resolve) => {
    const call = client.greet(name, (error, response) => resolve(error?.details ?? response));
    if (name === "sleeper") setTimeout(() => call.cancel(), 50);
  });
for (const name of ["Ada", "Grace", "nobody", "sleeper", "Barbara"]) console.log(await greet(name));

// Any program on this machine can read it now: wirescope, grpcdebug, or this process itself.
const listener = await listenChannelz(registry);
const channelz = connectChannelz(listener.address);

const [channel] = (await channelz.getTopChannels()).channel;
print(`channel to ${channel.data.target.replace(folder, "…")}`, channel.data);
const { subchannel } = await channelz.getSubchannel(channel.subchannelRef[0].subchannelId);
const { socket } = await channelz.getSocket(subchannel.socketRef[0].socketId);
print(`  socket to ${path(socket.remote)}`, socket.data);
const [serving] = (await channelz.getServers()).server;
print("server", serving.data);
const [{ socketId }] = (await channelz.getServerSockets(serving.ref.serverId)).socketRef;
const { socket: accepted } = await channelz.getSocket(socketId);
print(`  socket at ${path(accepted.local)}`, accepted.data);

await channelz.close();
await listener.close();
client.close();
server.forceShutdown();
observation.stop();
rmSync(folder, { recursive: true });

function path({ address }) {
  return address.value.filename.replace(folder, "…");
}

function print(what, { callsStarted, callsFailed, streamsStarted, streamsFailed, messagesSent, messagesReceived }) {
  if (callsStarted !== undefined) console.log(`${what}: ${callsStarted} calls, ${callsFailed} failed`);
  else
    console.log(
      `${what}: ${streamsStarted} streams, ${streamsFailed} failed; ${messagesSent} messages out, ${messagesReceived} in`,
    );
}
