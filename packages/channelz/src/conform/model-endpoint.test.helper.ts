import { create, toBinary } from "@bufbuild/protobuf";
import { SocketOptionTimeoutSchema } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { grantedWindow } from "../own-connection.js";
import { createRegistry, type Registry } from "../registry/index.js";
import type { Source } from "../source.js";
import { readsOf } from "../source.test.helper.js";
import type { Endpoint } from "./observe.js";

const ownPort = 6000;
// The registry releases what an application drops.
const held: unknown[] = [];

/** A registry with every kind of object, so that each rule has something to look at. */
function createModel(): { readonly registry: Registry; readonly countRequest: () => void } {
  const registry = createRegistry();
  const subject = {};
  const ip = "127.0.0.1";
  const server = registry.addServer({ name: "web" });
  const listening = [
    registry.addListenSocket({ server, local: { ip, port: 8080 } }),
    registry.addListenSocket({ server, local: { path: "/run/web.sock" } }),
  ];
  const tls = { standardName: "TLS_AES_128_GCM_SHA256", remoteCertificate: new Uint8Array([1]) };
  const duration = toBinary(
    SocketOptionTimeoutSchema,
    create(SocketOptionTimeoutSchema, { duration: { seconds: 1n } }),
  );
  const options = [
    { name: "SO_RCVTIMEO", additional: { type: "rpc.channelz.v1.SocketOptionTimeout", value: duration } },
    { name: "SO_SNDBUF", value: "65536" },
  ];
  const own = registry.addSocket({
    server,
    subject,
    describe: () => ({
      local: { ip, port: 8080 },
      remote: { ip, port: ownPort },
      localFlowControlWindow: grantedWindow,
      remoteFlowControlWindow: 65_535,
    }),
  });
  const secure = registry.addSocket({
    server,
    subject,
    describe: () => ({ local: { ip: "::1", port: 8080 }, remote: { name: "pipe" }, security: { tls }, options }),
  });
  const other = registry.addServer({ name: "other" });
  const channel = registry.addChannel({ target: "dns:///api.example", name: "api" });
  const second = registry.addChannel({ target: "dns:///second.example" });
  const nested = registry.addChannel({ parent: channel, target: "dns:///nested.example" });
  const subchannel = registry.addSubchannel({ parent: channel, target: "192.0.2.1:443" });
  const client = registry.addSocket({
    parent: subchannel,
    subject,
    describe: () => ({ local: { ip, port: 5001 }, remote: { ip, port: 443 }, security: { other: { name: "alts" } } }),
  });
  for (const each of [channel, subchannel]) {
    each.callStarted();
    each.callSucceeded();
    each.callStarted();
    each.callFailed();
    each.setState("CONNECTING");
    each.setState("READY");
  }
  for (let stream = 0; stream < 2; stream += 1) {
    client.localStreamStarted();
    client.messageSent();
  }
  client.messageReceived();
  client.streamSucceeded();
  client.streamFailed();
  const countRequest = (): void => {
    server.callStarted();
    server.callSucceeded();
    own.remoteStreamStarted();
    own.messageReceived();
    own.messageSent();
    own.streamSucceeded();
  };
  held.push(subject, server, listening, own, secure, other, channel, second, nested, subchannel, client);
  return { registry, countRequest };
}

/** An endpoint that follows every rule. It counts our requests on its end of our connection, as a server does. */
export function createModelEndpoint(change: (source: Source) => Partial<Source> = () => ({})): Endpoint {
  const { registry, countRequest } = createModel();
  let requests = 0;
  const counted =
    <A extends unknown[], R>(read: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      requests += 1;
      countRequest();
      return await read(...args);
    };
  const right = readsOf(registry);
  const source: Source = { ...right, ...change(right) };
  return {
    getTopChannels: counted(source.getTopChannels),
    getServers: counted(source.getServers),
    getServer: counted(source.getServer),
    getServerSockets: counted(source.getServerSockets),
    getChannel: counted(source.getChannel),
    getSubchannel: counted(source.getSubchannel),
    getSocket: counted(source.getSocket),
    findPackage: async () => "rpc.channelz.v1",
    ownConnection: () => ({ localPort: ownPort, grantedWindow, requests }),
  };
}
