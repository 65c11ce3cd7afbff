import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { connect, createServer, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { Duplex } from "node:stream";
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from "node:tls";
import { createRegistry } from "@wirescope/channelz";
import { describe, expect, onTestFinished, test } from "vitest";
import { listenAddress, localAddress, readEndpoints, remoteAddress, unixAddress } from "./addresses.js";
import {
  certificate,
  closeAfterTest,
  connection,
  connectTo,
  listen,
  portOf,
  serverIdentity,
  tlsConnection,
  unixPath,
} from "./connections.test.helper.js";

const hasIpv6 = Object.values(networkInterfaces()).some((one) => one?.some(({ address }) => address === "::1"));

describe("over TCP", () => {
  test("[CZ-SOCKET-1] shows each other's address on both ends of an IPv4 connection", async () => {
    const { server, client, accepted } = await connection();
    const port = portOf(server);
    expect(remoteAddress(client)).toEqual({ ip: "127.0.0.1", port });
    expect(localAddress(accepted)).toEqual({ ip: "127.0.0.1", port });
    expect(localAddress(client)).toEqual({ ip: "127.0.0.1", port: client.localPort });
    expect(remoteAddress(accepted)).toEqual(localAddress(client));
    expect(listenAddress(server)).toEqual({ ip: "127.0.0.1", port });
  });

  test.runIf(hasIpv6)("shows each other's address on both ends of an IPv6 connection", async () => {
    const { server, client, accepted } = await connection({ host: "::1", port: 0 });
    expect(readEndpoints(client)).toEqual({
      local: { ip: "::1", port: client.localPort },
      remote: { ip: "::1", port: portOf(server) },
    });
    expect(readEndpoints(accepted)).toEqual({
      local: { ip: "::1", port: portOf(server) },
      remote: { ip: "::1", port: client.localPort },
    });
  });

  test.runIf(hasIpv6)("[CZ-ADDR-2] shows an IPv4 client of a dual-stack server as IPv4, in 4 bytes", async () => {
    const { server, accepted } = await connection({ host: "::", port: 0 }, { host: "127.0.0.1" });
    expect(accepted.remoteAddress).toBe("::ffff:127.0.0.1");
    expect(localAddress(accepted)).toEqual({ ip: "127.0.0.1", port: portOf(server) });
    expect(remoteAddress(accepted)).toEqual({ ip: "127.0.0.1", port: accepted.remotePort });
    expect(listenAddress(server)).toEqual({ ip: "::", port: portOf(server) });

    const registry = createRegistry();
    const { id } = registry.addSocket(readEndpoints(accepted));
    const { socket } = await registry.getSocket(id);
    expect(socket?.remote?.address).toMatchObject({
      case: "tcpipAddress",
      value: { ipAddress: new Uint8Array([127, 0, 0, 1]), port: accepted.remotePort },
    });
  });

  test("keeps addresses that were read at connect time after the socket is closed", async () => {
    const { server, client } = await connection();
    const endpoints = readEndpoints(client);
    const port = client.localPort;
    client.destroy();
    expect(localAddress(client)).toBeUndefined();
    expect(endpoints.local).toEqual({ ip: "127.0.0.1", port });
    expect(endpoints.remote).toEqual({ ip: "127.0.0.1", port: portOf(server) });
  });

  test("shows both addresses of a socket that closed before it was read, as unknown", async () => {
    const { client } = await connection();
    client.destroy();
    const gone = { name: "unknown: the connection closed before its address was read" };
    expect(readEndpoints(client)).toEqual({ local: gone, remote: gone });
  });

  test("shows the addresses of the connection below TLS, even if TLS was added by hand", async () => {
    const { server, client, accepted } = await tlsConnection();
    expect(remoteAddress(client)).toEqual({ ip: "127.0.0.1", port: portOf(server) });
    expect(remoteAddress(accepted)).toEqual(localAddress(client));

    const beneath = connect({ host: "localhost", port: portOf(server), family: 4 });
    closeAfterTest(beneath);
    const above = connectTls({ socket: beneath, ca: certificate("ca.pem"), servername: "localhost" });
    closeAfterTest(above);
    await once(above, "secureConnect");
    expect(readEndpoints(above)).toEqual({
      local: { ip: "127.0.0.1", port: beneath.localPort },
      remote: { ip: "127.0.0.1", port: portOf(server) },
      remoteName: "localhost",
    });
  });

  test("shows the addresses of an HTTP/2 session's socket, and none after the session ended", async () => {
    const server = createHttp2Server();
    await listen(server, { host: "127.0.0.1", port: 0 });
    const session = connectHttp2(`http://127.0.0.1:${portOf(server)}`);
    await once(session, "connect");
    const { socket } = session;
    expect(readEndpoints(socket).remote).toEqual({ ip: "127.0.0.1", port: portOf(server) });
    session.destroy();
    expect(readEndpoints(socket).remote).toHaveProperty("name");
  });

  test("shows no address for a server that does not listen", async () => {
    const server = createServer();
    expect(listenAddress(server)).toBeUndefined();
    await listen(server, { host: "127.0.0.1", port: 0 });
    server.close();
    expect(listenAddress(server)).toBeUndefined();
  });
});

describe("over a Unix socket", () => {
  test("[CZ-ADDR-4] shows the server's path on an accepted connection, and none for its client", async () => {
    const path = unixPath();
    const { server, accepted } = await connection({ path });
    expect(listenAddress(server)).toEqual({ path });
    expect(readEndpoints(accepted)).toEqual({ local: { path }, remote: { path: "" } });
  });

  test("shows the path that a client says it connected to", async () => {
    const path = unixPath();
    const { client } = await connection({ path });
    expect(readEndpoints(client, { path })).toEqual({ local: { path: "" }, remote: { path } });
  });

  test("shows Unix addresses for a client that does not say where it connected", async () => {
    const { client } = await connection({ path: unixPath() });
    const unknown = { name: "stream without an address" };
    expect(readEndpoints(client)).toEqual({ local: unknown, remote: unknown });
  });

  test("[CZ-ADDR-1] encodes an end without a path as a Unix address with an empty name", async () => {
    const path = unixPath();
    const { accepted } = await connection({ path });
    const registry = createRegistry();
    const { id } = registry.addSocket(readEndpoints(accepted));
    const { socket } = await registry.getSocket(id);
    expect(socket?.local?.address).toMatchObject({ case: "udsAddress", value: { filename: path } });
    expect(socket?.remote?.address).toMatchObject({ case: "udsAddress", value: { filename: "" } });
  });

  test("shows the path of the connection below TLS", async () => {
    const path = unixPath();
    const { client, accepted } = await tlsConnection({}, {}, { path });
    expect(readEndpoints(accepted)).toEqual({ local: { path }, remote: { path: "" } });
    expect(readEndpoints(client, { path, servername: "localhost" })).toEqual({
      local: { path: "" },
      remote: { path },
      remoteName: "localhost",
    });
  });

  test("shows the path of the accepting server on a connection handed to a server that never listens", async () => {
    const path = unixPath();
    const front = createServer();
    const inner = createHttpServer();
    front.on("connection", (socket) => inner.emit("connection", socket));
    await listen(front, { path });
    const { accepted } = await connectTo(front, { path });
    expect(readEndpoints(accepted).local).toEqual({ path });
  });

  test("shows the path of the accepting server on a connection handed to a TLS server that never listens", async () => {
    const path = unixPath();
    const front = createServer();
    const inner = createTlsServer(serverIdentity);
    front.on("connection", (socket) => inner.emit("connection", socket));
    await listen(front, { path });
    const accepting = once(inner, "secureConnection");
    const client = connectTls({ path, ca: certificate("ca.pem"), servername: "localhost" });
    closeAfterTest(client);
    const [accepted] = (await accepting) as [TLSSocket];
    closeAfterTest(accepted);
    expect(readEndpoints(accepted).local).toEqual({ path });
  });

  test.runIf(process.platform === "linux")("writes an abstract name with an @", async () => {
    const name = `wirescope-${process.pid}`;
    const { server, accepted } = await connection({ path: `\0${name}` });
    expect(listenAddress(server)).toEqual({ path: `@${name}` });
    expect(localAddress(accepted)).toEqual({ path: `@${name}` });
  });

  test("does not show a Windows named pipe as a Unix socket", () => {
    expect(unixAddress("\\\\.\\pipe\\wirescope")).toEqual({ name: "\\\\.\\pipe\\wirescope" });
    expect(unixAddress("//?/PIPE/wirescope")).toEqual({ name: "//?/PIPE/wirescope" });
  });
});

describe("over other streams", () => {
  test("[CZ-ADDR-5] shows the pipes of a child process under the name they are given", () => {
    const child = spawn(process.execPath, ["-e", "process.stdin.resume()"], { stdio: "pipe" });
    onTestFinished(() => void child.kill());
    const name = `standard input of a child (pid ${child.pid})`;
    expect(readEndpoints(child.stdin as Socket, { name })).toEqual({ local: { name }, remote: { name } });
  });

  test("shows a name for both ends of TLS over a stream that is not a socket", async () => {
    const { server } = await tlsConnection();
    const beneath = connect({ host: "127.0.0.1", port: portOf(server) });
    closeAfterTest(beneath);
    const stream = Duplex.from({ readable: beneath, writable: beneath });
    const above = connectTls({ socket: stream, ca: certificate("ca.pem"), servername: "localhost" });
    closeAfterTest(above);
    await once(above, "secureConnect");
    expect(readEndpoints(above).remote).toEqual({ name: "stream without an address" });
  });
});

describe("the name of the remote end", () => {
  test("[CZ-SOCKET-4] shows the host that a client requested as the remote name", async () => {
    const { client, accepted } = await connection(undefined, { host: "localhost", family: 4 });
    expect(readEndpoints(client).remoteName).toBe("localhost");
    expect(readEndpoints(accepted)).not.toHaveProperty("remoteName");
  });

  test("shows the name of the TLS handshake rather than the host as the remote name", async () => {
    const { client } = await connection();
    const hints = { host: "10.0.0.1", servername: "orders.example" };
    expect(readEndpoints(client, hints).remoteName).toBe("orders.example");
    expect(readEndpoints(client, { host: "orders.example", servername: "" }).remoteName).toBe("orders.example");
  });

  test("omits a remote name that is an address", async () => {
    const { client } = await connection();
    expect(readEndpoints(client)).not.toHaveProperty("remoteName");
    expect(readEndpoints(client, { host: "::1" })).not.toHaveProperty("remoteName");
  });

  test.each(["localhost", "LOCALHOST:50051", "dns:///localhost:50051", "http://localhost:80/rpc"])(
    "omits a remote name that the target %s already contains",
    async (target) => {
      const { client } = await connection(undefined, { host: "localhost", family: 4 });
      expect(readEndpoints(client, { target })).not.toHaveProperty("remoteName");
    },
  );

  test("shows the remote name if the target is another", async () => {
    const { client } = await connection(undefined, { host: "localhost", family: 4 });
    expect(readEndpoints(client, { target: "dns:///my-localhost:1" }).remoteName).toBe("localhost");
  });
});
