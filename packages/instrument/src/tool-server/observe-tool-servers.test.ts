import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRegistry, type Registry } from "@wirescope/channelz";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { callsOf, streamsOf, traceOf } from "../http/both-ends.test.helper.js";
import { connection, der, portOf, tlsConnection } from "../sockets/connections.test.helper.js";
import { whyNoSocketOptions } from "../sockets/native.js";
import {
  childProcessInfo,
  connectionInfo,
  networkSocketInfo,
  publish,
  readAll,
  readOne,
  transportInfo,
} from "./connection-info.test.helper.js";
import { observeToolServers } from "./observe-tool-servers.js";

const states = ["UNKNOWN", "IDLE", "CONNECTING", "READY", "TRANSIENT_FAILURE", "SHUTDOWN"];
const severities = ["unknown", "info", "warning", "error"];
let registry: Registry;

beforeEach(() => {
  registry = createRegistry();
  const observation = observeToolServers({ registry });
  onTestFinished(() => observation.stop());
});

describe("connections", () => {
  test("[CZ-OP-2] [TS-D-SEEN-1] shows a connection as a top channel with the name and target of the entry", async () => {
    publish("connection:opened", connectionInfo());
    const { channels } = await readAll(registry);
    expect(channels).toMatchObject([
      { ref: { name: "github" }, data: { target: "https://api.example.com/mcp", state: { state: 1 } } },
    ]);
  });

  test("shows the connection of each tenant on its own, with the tenant in its name", async () => {
    for (const [acme, region] of [
      ["acme", "eu"],
      ["umbrella", "us"],
    ] as const) {
      publish("connection:opened", connectionInfo({ tenant: { TENANT_ID: acme, REGION: region } }));
    }
    const { channels } = await readAll(registry);
    expect(channels.map(({ ref }) => ref?.name)).toEqual([
      "github (TENANT_ID=acme, REGION=eu)",
      "github (TENANT_ID=umbrella, REGION=us)",
    ]);
  });

  test("[CZ-D-STATE-4] shows states, events and authentication in order and with their severity", async () => {
    const subject = connectionInfo();
    publish("connection:opened", subject);
    publish("connection:state", { subject, state: "CONNECTING", reason: undefined });
    publish("trace", { subject, severity: "info", text: "Helper ended with code 0 after 12 ms" });
    publish("trace", { subject, severity: "warning", text: "401, retried" });
    publish("connection:state", { subject, state: "TRANSIENT_FAILURE", reason: "refused" });
    publish("trace", { subject, severity: "error", text: "Gave up" });
    const { channels } = await readAll(registry);
    const { state, trace } = channels[0]!.data!;
    expect(states[state!.state]).toBe("TRANSIENT_FAILURE");
    expect(trace?.events.map(({ severity, description }) => `${severities[severity]} ${description}`)).toEqual([
      "info Created",
      "info Authentication: none",
      "info IDLE -> CONNECTING",
      "info Helper ended with code 0 after 12 ms",
      "warning 401, retried",
      "warning CONNECTING -> TRANSIENT_FAILURE: refused",
      "error Gave up",
    ]);
  });

  test("[CZ-DATA-3] [CZ-DATA-4] [CZ-DATA-5] counts the calls of a connection, and of each transport on its own", async () => {
    const connection = connectionInfo();
    const transports = [transportInfo(connection), transportInfo(connection, "https://b.example.com")] as const;
    publish("connection:opened", connection);
    for (const transport of transports) publish("transport:opened", transport);
    for (let i = 0; i < 3; i += 1) publish("connection:call-started", connection);
    publish("transport:call-started", transports[0]);
    publish("transport:call-started", transports[1]);
    publish("transport:call-started", transports[1]);
    publish("transport:call-succeeded", transports[0]);
    publish("transport:call-failed", transports[1]);
    publish("connection:call-succeeded", connection);
    publish("connection:call-failed", connection);
    const { channels, subchannels } = await readAll(registry);
    expect(channels.map(callsOf)).toEqual([[3, 1, 1]]);
    expect(channels[0]?.data?.lastCallStartedTimestamp).toBeDefined();
    expect(subchannels.map(({ data }) => data?.target)).toEqual(["https://api.example.com", "https://b.example.com"]);
    expect(subchannels.map(callsOf)).toEqual([
      [1, 1, 0],
      [2, 0, 1],
    ]);
  });
});

test("[CZ-SUBCHANNEL-1] [TS-D-SEEN-1] shows a transport as a subchannel with its own state and trace", async () => {
  const subject = transportInfo();
  publish("transport:opened", subject);
  publish("transport:state", { subject, state: "CONNECTING", reason: undefined });
  publish("transport:state", { subject, state: "READY", reason: undefined });
  publish("trace", { subject, severity: "info", text: "Speaks 2025-11-25" });
  const { subchannels } = await readAll(registry);
  expect(states[subchannels[0]!.data!.state!.state]).toBe("READY");
  expect(traceOf(subchannels[0]!)).toEqual([
    "Created",
    "IDLE -> CONNECTING",
    "CONNECTING -> READY",
    "Speaks 2025-11-25",
  ]);
});

describe("sockets", () => {
  test("[CZ-SOCKET-1] shows both addresses of a TCP socket, and omits a name that the target contains", async () => {
    const { client, server } = await connection();
    publish("socket:opened", networkSocketInfo(client, transportInfo(connectionInfo(), "https://api.example.com")));
    const { socket } = await readOne(registry);
    expect(socket).toMatchObject({
      ref: { name: "api.example.com:443" },
      local: { address: { value: { ipAddress: new Uint8Array([127, 0, 0, 1]), port: client.localPort } } },
      remote: { address: { value: { ipAddress: new Uint8Array([127, 0, 0, 1]), port: portOf(server) } } },
      remoteName: "",
    });
    expect(socket.security).toBeUndefined();
  });

  test.each([
    ["https://api.example.com", "api.example.com:443", ""],
    ["https://api.example.com:8443", "api.example.com:8443", ""],
    ["wss://api.example.com", "api.example.com:443", ""],
    ["http://127.0.0.1:8080", "127.0.0.1:8080", ""],
    ["http://[::1]:8080", "[::1]:8080", ""],
    ["https://api.example.com", "login.example.com:443", "login.example.com:443"],
    ["https://api.example.com", "api.example.com:8443", "api.example.com:8443"],
  ])("[CZ-SOCKET-4] shows a socket under %s to %s with the remote name %j", async (target, remoteName, shown) => {
    // Node looked up this machine by name, as it would a proxy.
    const { client } = await connection({ host: "localhost", port: 0 });
    publish("socket:opened", networkSocketInfo(client, transportInfo(connectionInfo(), target), remoteName));
    expect((await readOne(registry)).socket.remoteName).toBe(shown);
  });

  test("[CZ-SEC-1] [CZ-SEC-2] shows the cipher and certificates of a TLS socket", async () => {
    const { client } = await tlsConnection();
    publish("socket:opened", networkSocketInfo(client));
    const { model } = (await readOne(registry)).socket.security!;
    expect(model.case).toBe("tls");
    expect(model.value).toMatchObject({ cipherSuite: { case: "standardName", value: expect.stringMatching(/^TLS_/) } });
    expect(model.value).toMatchObject({ remoteCertificate: new Uint8Array(der("server.pem")) });
  });

  test.skipIf(whyNoSocketOptions() !== undefined)(
    "[CZ-OP-9] [CZ-OPT-3] shows the options of a socket live, and not in a summary",
    async () => {
      const { client } = await connection();
      publish("socket:opened", networkSocketInfo(client));
      const { socket } = await readOne(registry);
      const option = (name: string): string | undefined => socket.data?.option.find((one) => one.name === name)?.value;
      expect(option("TCP_INFO")).toBeDefined();
      const before = option("SO_KEEPALIVE");
      client.setKeepAlive(true, 5000);
      const id = socket.ref!.socketId;
      const after = (await registry.getSocket(id)).socket?.data?.option.find(
        (one) => one.name === "SO_KEEPALIVE",
      )?.value;
      expect(after).not.toBe(before);
      expect((await registry.getSocket(id, { summary: true })).socket?.data?.option).toEqual([]);
    },
  );

  test("[CZ-ADDR-5] shows processes as the addresses of a socket to a child process", async () => {
    const child = spawn(process.execPath, ["-e", "process.stdin.resume()"]);
    onTestFinished(() => void child.kill());
    await once(child, "spawn");
    const transport = transportInfo(connectionInfo({ kind: "stdio", target: "stdio:node" }), "node (2 arguments)");
    publish("socket:opened", { kind: "child", transport, pid: child.pid!, command: process.execPath });
    const { socket } = await readOne(registry);
    expect(socket).toMatchObject({
      ref: { name: `pid ${child.pid} node` },
      local: { address: { case: "otherAddress", value: { name: `pid ${process.pid} node` } } },
      remote: { address: { case: "otherAddress", value: { name: `pid ${child.pid} node` } } },
    });
  });

  test("[CZ-SOCKET-6] [CZ-SOCKET-7] [CZ-SOCKET-8] [CZ-SOCKET-9] [CZ-SOCKET-10] counts streams, messages and keep-alives of a socket", async () => {
    const socketInfo = childProcessInfo(4711);
    publish("socket:opened", socketInfo);
    for (let i = 0; i < 4; i += 1) publish("socket:stream-started", socketInfo);
    publish("socket:stream-succeeded", socketInfo);
    publish("socket:stream-failed", socketInfo);
    publish("socket:stream-failed", socketInfo);
    for (let i = 0; i < 5; i += 1) publish("socket:message-sent", socketInfo);
    for (let i = 0; i < 6; i += 1) publish("socket:message-received", socketInfo);
    for (let i = 0; i < 7; i += 1) publish("socket:keep-alive-sent", socketInfo);
    const { socket } = await readOne(registry);
    expect(streamsOf(socket)).toEqual([4, 1, 2]);
    expect(socket.data).toMatchObject({ messagesSent: 5n, messagesReceived: 6n, keepAlivesSent: 7n });
    expect(socket.data?.lastLocalStreamCreatedTimestamp).toBeDefined();
    expect(socket.data?.lastRemoteStreamCreatedTimestamp).toBeUndefined();
  });
});

test("reports an event that it cannot handle as a warning, without ending the process", async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  // Replaces the listener that prints warnings, because this one is expected.
  const printing = process.listeners("warning");
  process.removeAllListeners("warning").on("warning", onWarning);
  onTestFinished(() => {
    process.removeAllListeners("warning");
    for (const listener of printing) process.on("warning", listener);
  });
  publish("socket:stream-started", undefined as never);
  publish("connection:state", { subject: connectionInfo(), state: "FINE" as "READY", reason: undefined });
  publish("trace", { subject: connectionInfo(), severity: "loud" as "info", text: "" });
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings).toMatchObject([
    { code: "WIRESCOPE_NOT_SHOWN", message: expect.stringContaining("have the same version") },
  ]);
});

test("shares the observation with a second call for the same registry, until the last has stopped", async () => {
  const own = createRegistry();
  const [first, second] = [observeToolServers({ registry: own }), observeToolServers({ registry: own })];
  const info = connectionInfo();
  publish("connection:call-started", info);
  first.stop();
  first.stop();
  publish("connection:call-succeeded", info);
  expect((await readAll(own)).channels.map(callsOf)).toEqual([[1, 1, 0]]);
  second.stop();
  expect(own.size).toMatchObject({ channels: 0 });
});
