import * as grpc from "@grpc/grpc-js";
import type { Address, Registry } from "@wirescope/channelz";
import { beforeEach, describe, expect, test } from "vitest";
import { frameTypes, rawServer } from "../http2/raw-peer.test.helper.js";
import { certificate, der, unixPath } from "../sockets/connections.test.helper.js";
import { whyNoSocketOptions } from "../sockets/native.js";
import { connect, passThrough, serve, unary } from "./echo.test.helper.js";
import { createObservedRegistry } from "./observed-registry.test.helper.js";
import {
  events,
  eventually,
  readChannels,
  readEnds,
  readSockets,
  readSubchannels,
  streams,
} from "./reading.test.helper.js";

let registry: Registry;

beforeEach(() => {
  registry = createObservedRegistry();
});

const ca = certificate("ca.pem");

function serverCredentials(asksForCertificate: boolean): grpc.ServerCredentials {
  const pair = { cert_chain: certificate("server.pem"), private_key: certificate("server-key.pem") };
  return grpc.ServerCredentials.createSsl(ca, [pair], asksForCertificate);
}

function path(address: Address | undefined): string | undefined {
  return address?.address.case === "udsAddress" ? address.address.value.filename : undefined;
}

describe("addresses", () => {
  test("[CZ-SOCKET-1] [CZ-ADDR-2] shows matching addresses on both ends over TCP", async () => {
    const { target } = await serve();
    await unary(connect(target));
    const { client, accepted } = await readEnds(registry);
    expect(client.local).toEqual(accepted.remote);
    expect(client.remote).toEqual(accepted.local);
    expect(client.remote!.address).toMatchObject({
      case: "tcpipAddress",
      value: { ipAddress: Uint8Array.of(127, 0, 0, 1), port: Number(target.split(":")[1]) },
    });
    expect([client.remoteName, accepted.remoteName]).toEqual(["", ""]);
  });

  test("[CZ-ADDR-2] shows an IPv4 client with four bytes on a server that listens on all addresses", async () => {
    const { target } = await serve("[::]:0");
    const port = Number(target.split(":").at(-1));
    await unary(connect(`127.0.0.1:${port}`));
    const { client, accepted } = await readEnds(registry);
    expect(accepted.remote).toEqual(client.local);
    expect((accepted.remote!.address.value as { ipAddress: Uint8Array }).ipAddress).toHaveLength(4);
  });

  test("[CZ-ADDR-4] [CZ-SERVER-2] shows the path of a Unix socket on both ends and on the listen socket", async () => {
    const file = unixPath();
    const { target } = await serve(`unix:${file}`);
    await unary(connect(target));
    const { client, accepted, server } = await readEnds(registry);
    expect([path(client.local), path(client.remote)]).toEqual(["", file]);
    expect([path(accepted.local), path(accepted.remote)]).toEqual([file, ""]);
    const { socket: listening } = await registry.getSocket(server.listenSocket[0]!.socketId);
    expect(path(listening!.local)).toBe(file);
    expect(listening!.remote).toBeUndefined();
    for (const { ref } of [client, accepted]) expect(ref!.name).not.toBe("unknown");
  });

  test("shows both the path and the security of a Unix socket with TLS", async () => {
    const file = unixPath();
    const { target } = await serve(`unix:${file}`, serverCredentials(false));
    await unary(connect(target, grpc.credentials.createSsl(ca), { "grpc.ssl_target_name_override": "localhost" }));
    const { client, accepted } = await readEnds(registry);
    expect([path(client.remote), path(accepted.local)]).toEqual([file, file]);
    for (const { security } of [client, accepted]) expect(security!.model.case).toBe("tls");
  });
});

describe("TLS", () => {
  test("[CZ-SEC-1] [CZ-SEC-2] shows the cipher, and the certificate of the server on both ends", async () => {
    const { target } = await serve("localhost:0", serverCredentials(false));
    await unary(connect(target, grpc.credentials.createSsl(ca)));
    const { client, accepted } = await readEnds(registry);
    const ours = client.security!.model.value as { remoteCertificate: Uint8Array; localCertificate: Uint8Array };
    const theirs = accepted.security!.model.value as { remoteCertificate: Uint8Array; localCertificate: Uint8Array };
    const server = new Uint8Array(der("server.pem"));
    expect([ours.remoteCertificate, theirs.localCertificate]).toEqual([server, server]);
    expect([ours.localCertificate, theirs.remoteCertificate]).toEqual([new Uint8Array(), new Uint8Array()]);
    for (const { security } of [client, accepted]) {
      expect(security!.model.value).toMatchObject({
        cipherSuite: { case: "standardName", value: expect.stringMatching(/^TLS_/) },
      });
    }
    expect(client.remoteName).toBe("");
  });

  test("[CZ-SEC-2] shows the certificate of a client on both ends if the server requests one", async () => {
    const { target } = await serve("localhost:0", serverCredentials(true));
    const credentials = grpc.credentials.createSsl(ca, certificate("client-key.pem"), certificate("client.pem"));
    await unary(connect(target, credentials));
    const { client, accepted } = await readEnds(registry);
    const own = new Uint8Array(der("client.pem"));
    expect((client.security!.model.value as { localCertificate: Uint8Array }).localCertificate).toEqual(own);
    expect((accepted.security!.model.value as { remoteCertificate: Uint8Array }).remoteCertificate).toEqual(own);
  });

  test("[CZ-SOCKET-4] shows a requested server name as the remote name instead of the name of the target", async () => {
    const { target } = await serve("127.0.0.1:0", serverCredentials(false));
    await unary(connect(target, grpc.credentials.createSsl(ca), { "grpc.ssl_target_name_override": "localhost" }));
    expect((await readEnds(registry)).client.remoteName).toBe("localhost");
  });

  test("traces an untrusted certificate as the cause on the channel and the subchannel", async () => {
    const { target } = await serve("localhost:0", serverCredentials(false));
    const client = connect(target, grpc.credentials.createSsl(certificate("other-ca.pem")));
    expect((await unary(client)).code).toBe(grpc.status.UNAVAILABLE);
    const [channel] = await readChannels(registry);
    const [subchannel] = await readSubchannels(registry, channel!);
    for (const { data } of [channel!, subchannel!]) {
      expect(events(data!.trace)).toContainEqual(
        expect.stringMatching(/^CONNECTING -> TRANSIENT_FAILURE: .*(?:certificate|issuer)/),
      );
    }
    expect((await readSubchannels(registry, channel!))[0]!.socketRef).toEqual([]);
  });

  test("traces a client that does not speak TLS as a warning with the reason on the server", async () => {
    const { target } = await serve("localhost:0", serverCredentials(false));
    expect((await unary(connect(target))).code).toBe(grpc.status.UNAVAILABLE);
    await eventually(async () => {
      const [server] = (await registry.getServers()).server;
      expect(server!.data!.trace!.events).toContainEqual(
        expect.objectContaining({ description: expect.stringMatching(/^TLS handshake failed: ./), severity: 2 }),
      );
    });
  });
});

test("traces why a server refuses the certificate of a client", async () => {
  const { target } = await serve("localhost:0", serverCredentials(true));
  const stranger = [certificate("other-client-key.pem"), certificate("other-client.pem")] as const;
  const client = connect(target, grpc.credentials.createSsl(ca, ...stranger));
  expect((await unary(client)).code).toBe(grpc.status.UNAVAILABLE);
  await eventually(async () => {
    const [server] = (await registry.getServers()).server;
    expect(events(server!.data!.trace)).toContainEqual(
      expect.stringMatching(/^TLS handshake failed: client certificate refused: UNABLE_TO_VERIFY_LEAF_SIGNATURE/),
    );
  });
});

describe("socket details", () => {
  test("[CZ-SOCKET-13] [CZ-SOCKET-14] [CZ-SOCKET-15] shows windows from the side of the sender, and 0 as 0", async () => {
    const raw = await rawServer();
    const call = connect(`127.0.0.1:${raw.port}`).chat();
    call.on("error", () => {});
    const peer = await raw.peer;
    await peer.frame(({ type }) => type === frameTypes.headers);
    // The peer grants the default window of HTTP/2.
    call.write({ text: "x".repeat(100_000) });
    await eventually(async () => {
      const [channel] = await readChannels(registry);
      const [subchannel] = await readSubchannels(registry, channel!);
      const [socket] = await readSockets(registry, subchannel!);
      expect(socket!.data!.localFlowControlWindow).toBe(0n);
      expect(socket!.data!.remoteFlowControlWindow).toBe(65_535n);
      expect(socket!.data!.messagesSent).toBe(0n);
    });
    call.cancel();
    raw.close();
  });

  test.skipIf(whyNoSocketOptions() !== undefined)(
    "[CZ-OPT-1] shows socket options on both ends, but not in a summary",
    async () => {
      const { target } = await serve();
      await unary(connect(target));
      const { client, accepted } = await readEnds(registry);
      for (const { data, ref } of [client, accepted]) {
        const names = data!.option.map(({ name }) => name);
        expect(names).toEqual(expect.arrayContaining(["SO_LINGER", "TCP_INFO", "TCP_NODELAY"]));
        const { socket } = await registry.getSocket(ref!.socketId, { summary: true });
        expect(socket!.data!.option).toEqual([]);
      }
      expect(client.data!.option.find(({ name }) => name === "TCP_NODELAY")!.value).toBe("1");
    },
  );

  test("[CZ-SOCKET-9] [CZ-SOCKET-10] [CZ-SOCKET-11] counts keep-alives and stream times on the side they belong to", async () => {
    const { target } = await serve();
    const client = connect(target, undefined, {
      "grpc.keepalive_time_ms": 20,
      "grpc.keepalive_permit_without_calls": 1,
    });
    await unary(client);
    await eventually(async () => {
      const ends = await readEnds(registry);
      expect(ends.client.data!.keepAlivesSent).toBeGreaterThan(1n);
      expect(ends.accepted.data!.keepAlivesSent).toBe(0n);
      expect(ends.client.data!.lastLocalStreamCreatedTimestamp).toBeDefined();
      expect(ends.client.data!.lastRemoteStreamCreatedTimestamp).toBeUndefined();
      expect(ends.accepted.data!.lastRemoteStreamCreatedTimestamp).toBeDefined();
      expect(ends.accepted.data!.lastLocalStreamCreatedTimestamp).toBeUndefined();
    });
  });

  test("counts the keep-alives of a server on the server", async () => {
    const { target } = await serve(undefined, undefined, { "grpc.keepalive_time_ms": 20 });
    await unary(connect(target));
    await eventually(async () => {
      const { client, accepted } = await readEnds(registry);
      expect(accepted.data!.keepAlivesSent).toBeGreaterThan(1n);
      expect(client.data!.keepAlivesSent).toBe(0n);
    });
  });
});

test("[CZ-D-GRAVE-2] removes a replaced connection, and shows its successor under the same subchannel or a new one", async () => {
  const { target } = await serve();
  const proxy = await passThrough(Number(target.split(":")[1]));
  const client = connect(`127.0.0.1:${proxy.port}`);
  for (let round = 0; round < 3; round += 1) {
    await eventually(async () => expect((await unary(client)).code).toBe(0));
    const { client: socket, accepted } = await readEnds(registry);
    expect([streams(socket), streams(accepted)]).toEqual([
      [1n, 1n, 0n],
      [1n, 1n, 0n],
    ]);
    proxy.cut();
    // Only the listen socket is left.
    await eventually(() => expect(registry.size.sockets).toBe(1));
  }
});
