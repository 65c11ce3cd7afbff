import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type ChannelCredentials, credentials, status } from "@grpc/grpc-js";
import {
  type ChannelzListener,
  type ChannelzPackage,
  channelzPackages,
  createRegistry,
  lingerOption,
  listenChannelz,
  type Registry,
  redactSource,
} from "@wirescope/channelz";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GrpcJsResponse, readWithGrpcJs } from "./grpc-js-channelz.test.helper.js";

const run = promisify(execFile);
const certificatePath = (name: string): string =>
  fileURLToPath(new URL(`../certificates/${name}.pem`, import.meta.url));

interface World {
  readonly registry: Registry;
  readonly ids: {
    readonly channel: number;
    readonly subchannel: number;
    readonly socket: number;
    readonly server: number;
    readonly accepted: number;
  };
}

function createWorld(): World & { readonly held: unknown } {
  const registry = createRegistry();
  const channel = registry.addChannel({ name: "orders", target: "dns:///orders.internal:443" });
  const subchannel = registry.addSubchannel({ parent: channel, target: "10.0.0.7:443" });
  const subject = {};
  const socket = registry.addSocket({
    parent: subchannel,
    local: { ip: "127.0.0.1", port: 40_000 },
    remote: { ip: "10.0.0.7", port: 443 },
    subject,
    describe: () => ({ options: [lingerOption(true, 1500)] }),
  });
  const server = registry.addServer({ name: "api" });
  const accepted = registry.addSocket({ server, local: { ip: "::1", port: 80 }, remote: { ip: "::1", port: 50_000 } });
  channel.callStarted();
  channel.callFailed();
  return {
    registry,
    held: [channel, subchannel, socket, server, accepted, subject],
    ids: {
      channel: channel.id,
      subchannel: subchannel.id,
      socket: socket.id,
      server: server.id,
      accepted: accepted.id,
    },
  };
}

let world: ReturnType<typeof createWorld>;
let listener: ChannelzListener;
beforeAll(async () => {
  world = createWorld();
  listener = await listenChannelz(world.registry);
});
afterAll(() => listener.close());

describe("grpc-js as the client, with its own schema", () => {
  const call = (method: string, request: object): Promise<GrpcJsResponse> =>
    readWithGrpcJs(listener.address, method, request);

  test("[CZ-D-VER-1] returns what was added from all seven reads", async () => {
    const { ids } = world;
    expect(await call("GetTopChannels", {})).toMatchObject({
      channel: [
        {
          ref: { channel_id: String(ids.channel), name: "orders" },
          data: { target: "dns:///orders.internal:443", calls_started: "1", calls_failed: "1" },
        },
      ],
      end: true,
    });
    expect(await call("GetServers", {})).toMatchObject({
      server: [{ ref: { server_id: String(ids.server), name: "api" } }],
      end: true,
    });
    expect(await call("GetServer", { server_id: ids.server })).toMatchObject({ server: { ref: { name: "api" } } });
    expect(await call("GetServerSockets", { server_id: ids.server })).toMatchObject({
      socket_ref: [{ socket_id: String(ids.accepted) }],
      end: true,
    });
    expect(await call("GetChannel", { channel_id: ids.channel })).toMatchObject({
      channel: { subchannel_ref: [{ subchannel_id: String(ids.subchannel) }] },
    });
    expect(await call("GetSubchannel", { subchannel_id: ids.subchannel })).toMatchObject({
      subchannel: { socket_ref: [{ socket_id: String(ids.socket) }] },
    });
    expect(await call("GetSocket", { socket_id: ids.socket })).toMatchObject({
      socket: {
        remote: { tcpip_address: { ip_address: Buffer.from([10, 0, 0, 7]), port: 443 } },
        data: {
          option: [
            {
              name: "SO_LINGER",
              additional: { type_url: "type.googleapis.com/grpc.channelz.v1.SocketOptionLinger" },
            },
          ],
        },
      },
    });
  });

  test("[CZ-ERR-1] [CZ-D-ARG-1] returns errors with the codes and messages of gRPC", async () => {
    await expect(call("GetSocket", { socket_id: 987 })).rejects.toMatchObject({
      code: status.NOT_FOUND,
      details: expect.stringContaining("987"),
    });
    await expect(call("GetServers", { max_results: -1 })).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  });

  test("serves a source around the registry", async () => {
    const redacted = await listenChannelz(redactSource(world.registry));
    const response = await readWithGrpcJs(redacted.address, "GetSocket", { socket_id: world.ids.socket });
    expect(response).toMatchObject({ socket: { remote: { other_address: { name: "redacted" } } } });
    await expect(readWithGrpcJs(redacted.address, "GetSocket", { socket_id: 987 })).rejects.toMatchObject({
      code: status.NOT_FOUND,
    });
    await redacted.close();
  });

  test("[CZ-D-ACCESS-3] accepts only callers with the token in the metadata", async () => {
    const guarded = await listenChannelz(world.registry, { token: "s3cret" });
    expect(await readWithGrpcJs(guarded.address, "GetServers", {}, "s3cret")).toMatchObject({ end: true });
    await expect(readWithGrpcJs(guarded.address, "GetServers")).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
    await guarded.close();
  });

  test("[CZ-D-ACCESS-6] accepts a client certificate on a listener with mutual TLS", async () => {
    const read = (name: string): Buffer => readFileSync(certificatePath(name));
    const secure = await listenChannelz(world.registry, {
      tls: { cert: read("server"), key: read("server-key"), ca: read("ca") },
    });
    const readAs = (using: ChannelCredentials): Promise<GrpcJsResponse> =>
      // By its name: Node 26 does not allow an IP address as the TLS server name.
      readWithGrpcJs(secure.address.replace("127.0.0.1", "localhost"), "GetServers", {}, undefined, using);
    const known = credentials.createSsl(read("ca"), read("client-key"), read("client"));
    expect(await readAs(known)).toMatchObject({ end: true });
    const stranger = credentials.createSsl(read("ca"), read("other-client-key"), read("other-client"));
    await expect(readAs(stranger)).rejects.toMatchObject({ code: status.UNAVAILABLE });
    await secure.close();
  });

  test("[CZ-D-LISTEN-4] fails calls with UNAVAILABLE after the listener has closed", async () => {
    const ending = await listenChannelz(world.registry);
    expect(await readWithGrpcJs(ending.address, "GetServers")).toMatchObject({ end: true });
    await ending.close();
    await expect(readWithGrpcJs(ending.address, "GetServers")).rejects.toMatchObject({ code: status.UNAVAILABLE });
  });
});

describe("buf curl, with the schema of reflection", () => {
  // The program for this platform: starting Node to find it would take most of the time.
  const packages = fileURLToPath(new URL("../../node_modules/@bufbuild", import.meta.url));
  const native = readdirSync(packages).find((name) => name.startsWith("buf-")) ?? "buf";
  const buf = join(packages, native, "bin", "buf");
  const curl = async (args: readonly string[]): Promise<string> => (await run(buf, ["curl", ...args])).stdout;
  const url = (channelzPackage: ChannelzPackage, method: string): string =>
    `${listener.url}/${channelzPackage}.Channelz/${method}`;

  test.each(
    channelzPackages.flatMap((channelzPackage) =>
      ["grpc", "grpcweb", "connect"].map((protocol) => [protocol, channelzPackage] as const),
    ),
  )(
    "[CZ-D-PATH-1] [CZ-D-PATH-2] [CZ-D-PATH-3] [CZ-D-TOOLS-1] reads a socket over %s under %s, with its payloads",
    async (protocol, channelzPackage) => {
      const output = await curl([
        "--http2-prior-knowledge",
        "--protocol",
        protocol,
        "--data",
        JSON.stringify({ socket_id: world.ids.socket }),
        url(channelzPackage, "GetSocket"),
      ]);
      expect(JSON.parse(output)).toMatchObject({
        socket: {
          ref: { socketId: String(world.ids.socket) },
          data: {
            option: [
              {
                additional: {
                  "@type": `type.googleapis.com/${channelzPackage}.SocketOptionLinger`,
                  active: true,
                  duration: "1.500s",
                },
              },
            ],
          },
        },
      });
    },
  );

  test.each(["grpc-v1", "grpc-v1alpha"])("[CZ-D-TOOLS-1] lists the methods over reflection %s", async (protocol) => {
    const methods = await curl([
      "--http2-prior-knowledge",
      "--reflect-protocol",
      protocol,
      "--list-methods",
      listener.url,
    ]);
    for (const channelzPackage of channelzPackages)
      expect(methods).toContain(`${channelzPackage}.Channelz/GetTopChannels`);
    expect(methods).toContain("grpc.health.v1.Health/Check");
  });

  test("[CZ-D-TOOLS-2] reads the health of the server", async () => {
    const output = await curl([
      "--http2-prior-knowledge",
      "--protocol",
      "grpc",
      "--data",
      "{}",
      `${listener.url}/grpc.health.v1.Health/Check`,
    ]);
    expect(JSON.parse(output)).toEqual({ status: "SERVING" });
  });

  test("[CZ-ERR-1] returns NOT_FOUND in each protocol", async () => {
    for (const protocol of ["grpc", "grpcweb", "connect"]) {
      const failed = curl([
        "--http2-prior-knowledge",
        "--protocol",
        protocol,
        "--data",
        '{"server_id": 987}',
        url("rpc.channelz.v1", "GetServer"),
      ]);
      await expect(failed).rejects.toMatchObject({ stderr: expect.stringContaining("not_found") });
    }
  });

  test("[CZ-D-PATH-4] reads a socket over TLS", async () => {
    const read = (name: string): Buffer => readFileSync(certificatePath(name));
    const secure = await listenChannelz(world.registry, { tls: { cert: read("server"), key: read("server-key") } });
    const output = await curl([
      "--cacert",
      certificatePath("ca"),
      "--protocol",
      "grpc",
      "--data",
      "{}",
      `${secure.url}/rpc.channelz.v1.Channelz/GetServers`,
    ]);
    expect(JSON.parse(output)).toMatchObject({ end: true });
    await secure.close();
  });
});
