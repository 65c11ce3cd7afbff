import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect as connectHttp2, createSecureServer } from "node:http2";
import { createRequire } from "node:module";
import { connect, createServer, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { createRegistry } from "@wirescope/channelz";
import { describe, expect, onTestFinished, test } from "vitest";
import { readEndpoints } from "./addresses.js";
import {
  certificate,
  clientIdentity,
  closeAfterTest,
  connection,
  der,
  listen,
  portOf,
  serverIdentity,
  tlsConnection,
  unixPath,
} from "./connections.test.helper.js";
import { describeListenSocket, describeSocket } from "./describe-socket.js";
import { nativeSockets } from "./native.js";
import { descriptorOf } from "./socket-internals.js";

const hasOptions = nativeSockets() !== undefined;

/** A second file descriptor of the same socket, like an inherited one. */
function duplicate(descriptor: number | undefined): number {
  const koffi = createRequire(import.meta.url)("koffi") as typeof import("koffi");
  return koffi.load(null).func("int dup(int)")(descriptor) as number;
}

test("returns no details for a destroyed socket, and does not fail", async () => {
  const plain = await connection();
  const secure = await tlsConnection();
  const unix = await connection({ path: unixPath() });
  for (const { client, accepted } of [plain, secure, unix]) {
    for (const socket of [client, accepted]) {
      socket.destroy();
      expect(describeSocket(socket)).toEqual({});
    }
  }
});

test("describes TLS over a destroyed connection at any moment until it closes", async () => {
  const { server } = await tlsConnection();
  const beneath = connect({ host: "127.0.0.1", port: portOf(server) });
  closeAfterTest(beneath);
  const above = connectTls({ socket: beneath, ca: certificate("ca.pem"), servername: "localhost" });
  closeAfterTest(above);
  await once(above, "secureConnect");
  expect(describeSocket(above).security).toBeDefined();
  beneath.destroy();
  while (!above.closed) {
    expect(describeSocket(above).options).toBeUndefined();
    await setImmediate();
  }
  expect(describeSocket(above)).toEqual({});
});

test("describes the socket of an HTTP/2 session while the session lives", async () => {
  const server = createSecureServer({ ...serverIdentity, requestCert: true, ca: certificate("ca.pem") });
  await listen(server, { host: "127.0.0.1", port: 0 });
  const session = connectHttp2(`https://localhost:${portOf(server)}`, {
    ...clientIdentity,
    ca: certificate("ca.pem"),
    family: 4,
  } as object);
  onTestFinished(() => void session.destroy());
  await once(session, "connect");
  const { socket } = session;
  const { security, options } = describeSocket(socket);
  expect(security).toMatchObject({
    tls: { localCertificate: der("client.pem"), remoteCertificate: der("server.pem") },
  });
  expect(options !== undefined).toBe(hasOptions);
  session.close();
  await once(session, "close");
  expect(describeSocket(socket)).toEqual({});
});

describe.runIf(hasOptions)("on Linux", () => {
  test("[CZ-OP-9] reads options and security live, and only in a full read", async () => {
    const { client } = await tlsConnection();
    const registry = createRegistry();
    const { id } = registry.addSocket({ ...readEndpoints(client), subject: client, describe: describeSocket });
    const read = async (summary: boolean) => {
      const { socket } = await registry.getSocket(id, { summary });
      const option = socket?.data?.option.find(({ name }) => name === "SO_KEEPALIVE");
      return { keepAlive: option?.value, model: socket?.security?.model.case, remote: socket?.remote?.address.case };
    };
    expect(await read(true)).toEqual({ keepAlive: undefined, model: undefined, remote: "tcpipAddress" });
    expect(await read(false)).toEqual({ keepAlive: "0", model: "tls", remote: "tcpipAddress" });
    client.setKeepAlive(true);
    expect(await read(false)).toEqual({ keepAlive: "1", model: "tls", remote: "tcpipAddress" });
    client.destroy();
    expect(await read(false)).toEqual({ keepAlive: undefined, model: undefined, remote: "tcpipAddress" });
  });

  test("reads the path of a Unix client that did not say where it connected from the kernel", async () => {
    const path = unixPath();
    const { client, accepted } = await connection({ path });
    expect(describeSocket(client)).toMatchObject({ local: { path: "" }, remote: { path } });
    expect(describeSocket(accepted)).toMatchObject({ local: { path }, remote: { path: "" } });
    const secure = await tlsConnection({}, {}, { path: unixPath() });
    expect(describeSocket(secure.client)).toMatchObject({ remote: { path: secure.server.address() } });
  });

  test("keeps the given names of an unnamed socket pair, such as the standard streams of a child process", () => {
    const child = spawn(process.execPath, ["-e", "process.stdin.resume()"], { stdio: "pipe" });
    onTestFinished(() => void child.kill());
    const details = describeSocket(child.stdin as Socket);
    expect(details).not.toHaveProperty("local");
    expect(details).not.toHaveProperty("remote");
  });

  test("shows the options of a server, and its path if it got a bare descriptor", async () => {
    const path = unixPath();
    const first = await listen(createServer(), { path });
    expect(describeListenSocket(first)).not.toHaveProperty("local");
    const second = createServer();
    await listen(second, { fd: duplicate(descriptorOf(first)) });
    expect(second.address()).toBeNull();
    expect(describeListenSocket(second)).toMatchObject({ local: { path } });
    expect(describeListenSocket(second).options).toBeDefined();
  });

  test("returns no details for a server that does not listen", () => {
    expect(describeListenSocket(createServer())).toEqual({ options: undefined });
  });
});
