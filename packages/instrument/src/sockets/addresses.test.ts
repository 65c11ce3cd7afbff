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
  test("[CZ-SOCKET-1] the ends of a connection over IPv4 have each other's addresses", async () => {
    const { server, client, accepted } = await connection();
    const port = portOf(server);
    expect(remoteAddress(client)).toEqual({ ip: "127.0.0.1", port });
    expect(localAddress(accepted)).toEqual({ ip: "127.0.0.1", port });
    expect(localAddress(client)).toEqual({ ip: "127.0.0.1", port: client.localPort });
    expect(remoteAddress(accepted)).toEqual(localAddress(client));
    expect(listenAddress(server)).toEqual({ ip: "127.0.0.1", port });
  });

  test.runIf(hasIpv6)("the ends of a connection over IPv6 have each other's addresses", async () => {
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

  test.runIf(hasIpv6)("[CZ-ADDR-2] IPv4 on a server of both families is shown as IPv4, in 4 bytes", async () => {
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

  test("addresses read at connect time outlive the socket", async () => {
    const { server, client } = await connection();
    const endpoints = readEndpoints(client);
    const port = client.localPort;
    client.destroy();
    expect(localAddress(client)).toBeUndefined();
    expect(endpoints.local).toEqual({ ip: "127.0.0.1", port });
    expect(endpoints.remote).toEqual({ ip: "127.0.0.1", port: portOf(server) });
  });

  test("a socket that is gone before it is asked still has both addresses, which say so", async () => {
    const { client } = await connection();
    client.destroy();
    const gone = { name: "unknown: the connection was gone before it could be asked" };
    expect(readEndpoints(client)).toEqual({ local: gone, remote: gone });
  });

  test("TLS has the addresses of the connection beneath, also where it was put over one by hand", async () => {
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

  test("a session of HTTP/2 has the addresses of its socket, and none once it is over", async () => {
    const server = createHttp2Server();
    await listen(server, { host: "127.0.0.1", port: 0 });
    const session = connectHttp2(`http://127.0.0.1:${portOf(server)}`);
    await once(session, "connect");
    const { socket } = session;
    expect(readEndpoints(socket).remote).toEqual({ ip: "127.0.0.1", port: portOf(server) });
    session.destroy();
    expect(readEndpoints(socket).remote).toHaveProperty("name");
  });

  test("a server that does not listen has no address", async () => {
    const server = createServer();
    expect(listenAddress(server)).toBeUndefined();
    await listen(server, { host: "127.0.0.1", port: 0 });
    server.close();
    expect(listenAddress(server)).toBeUndefined();
  });
});

describe("over a Unix socket", () => {
  test("[CZ-ADDR-4] an accepted connection is bound to the path of its server, and its client to none", async () => {
    const path = unixPath();
    const { server, accepted } = await connection({ path });
    expect(listenAddress(server)).toEqual({ path });
    expect(readEndpoints(accepted)).toEqual({ local: { path }, remote: { path: "" } });
  });

  test("a client has the path that it says it connected to", async () => {
    const path = unixPath();
    const { client } = await connection({ path });
    expect(readEndpoints(client, { path })).toEqual({ local: { path: "" }, remote: { path } });
  });

  test("a client that does not say to where has addresses nonetheless", async () => {
    const { client } = await connection({ path: unixPath() });
    const unknown = { name: "stream without an address" };
    expect(readEndpoints(client)).toEqual({ local: unknown, remote: unknown });
  });

  test("[CZ-ADDR-1] an end without a path goes over the wire as a Unix address with an empty name", async () => {
    const path = unixPath();
    const { accepted } = await connection({ path });
    const registry = createRegistry();
    const { id } = registry.addSocket(readEndpoints(accepted));
    const { socket } = await registry.getSocket(id);
    expect(socket?.local?.address).toMatchObject({ case: "udsAddress", value: { filename: path } });
    expect(socket?.remote?.address).toMatchObject({ case: "udsAddress", value: { filename: "" } });
  });

  test("TLS has the path of the connection beneath", async () => {
    const path = unixPath();
    const { client, accepted } = await tlsConnection({}, {}, { path });
    expect(readEndpoints(accepted)).toEqual({ local: { path }, remote: { path: "" } });
    expect(readEndpoints(client, { path, servername: "localhost" })).toEqual({
      local: { path: "" },
      remote: { path },
      remoteName: "localhost",
    });
  });

  test("a connection handed on to a server that never listens has the path of the one that accepted it", async () => {
    const path = unixPath();
    const front = createServer();
    const inner = createHttpServer();
    front.on("connection", (socket) => inner.emit("connection", socket));
    await listen(front, { path });
    const { accepted } = await connectTo(front, { path });
    expect(readEndpoints(accepted).local).toEqual({ path });
  });

  test("a connection handed on to a TLS server that never listens has the path of the one that accepted it", async () => {
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

  test.runIf(process.platform === "linux")("an abstract name is written with an @", async () => {
    const name = `wirescope-${process.pid}`;
    const { server, accepted } = await connection({ path: `\0${name}` });
    expect(listenAddress(server)).toEqual({ path: `@${name}` });
    expect(localAddress(accepted)).toEqual({ path: `@${name}` });
  });

  test("a named pipe of Windows is no Unix socket", () => {
    expect(unixAddress("\\\\.\\pipe\\wirescope")).toEqual({ name: "\\\\.\\pipe\\wirescope" });
    expect(unixAddress("//?/PIPE/wirescope")).toEqual({ name: "//?/PIPE/wirescope" });
  });
});

describe("over something else", () => {
  test("[CZ-ADDR-5] the pipes of a child go by the name that they are given", () => {
    const child = spawn(process.execPath, ["-e", "process.stdin.resume()"], { stdio: "pipe" });
    onTestFinished(() => void child.kill());
    const name = `standard input of a child (pid ${child.pid})`;
    expect(readEndpoints(child.stdin as Socket, { name })).toEqual({ local: { name }, remote: { name } });
  });

  test("TLS over a stream that is no socket has a name for both ends", async () => {
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
  test("[CZ-SOCKET-4] is the host that a client asked for", async () => {
    const { client, accepted } = await connection(undefined, { host: "localhost", family: 4 });
    expect(readEndpoints(client).remoteName).toBe("localhost");
    expect(readEndpoints(accepted)).not.toHaveProperty("remoteName");
  });

  test("is the name in the handshake rather than the host", async () => {
    const { client } = await connection();
    const hints = { host: "10.0.0.1", servername: "orders.example" };
    expect(readEndpoints(client, hints).remoteName).toBe("orders.example");
    expect(readEndpoints(client, { host: "orders.example", servername: "" }).remoteName).toBe("orders.example");
  });

  test("is left out where it is an address", async () => {
    const { client } = await connection();
    expect(readEndpoints(client)).not.toHaveProperty("remoteName");
    expect(readEndpoints(client, { host: "::1" })).not.toHaveProperty("remoteName");
  });

  test.each(["localhost", "LOCALHOST:50051", "dns:///localhost:50051", "http://localhost:80/rpc"])(
    "is left out if the target %s contains it already",
    async (target) => {
      const { client } = await connection(undefined, { host: "localhost", family: 4 });
      expect(readEndpoints(client, { target })).not.toHaveProperty("remoteName");
    },
  );

  test("is shown if the target is another", async () => {
    const { client } = await connection(undefined, { host: "localhost", family: 4 });
    expect(readEndpoints(client, { target: "dns:///my-localhost:1" }).remoteName).toBe("localhost");
  });
});
