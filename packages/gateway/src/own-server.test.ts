import { Agent, request } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { openAdminConnection } from "./admin/connect-admin.js";
import { connect, pollOptions, startTestGateway } from "./gateway.test.helper.js";

const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
});

test("counts a client's requests as calls of the gateway's server, and as streams and messages of its socket", async () => {
  const { endpoint, token, gateway } = await startTestGateway({});
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const post = (more: Record<string, string> = {}): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...more,
      };
      const sent = request(endpoint, { method: "POST", agent, headers }, (response) => {
        response.resume().on("end", () => resolve(response.statusCode));
      });
      sent.on("error", reject).end(initialize);
    });
  const { registry } = gateway;
  const serverOf = async () => (await registry.getServers()).server[0];

  expect([await post(), await post(), await post()]).toEqual([200, 200, 200]);
  const counted = { callsStarted: 3n, callsSucceeded: 3n, callsFailed: 0n };
  await expect.poll(async () => (await serverOf())?.data, pollOptions).toMatchObject(counted);
  const { socketRef } = await registry.getServerSockets((await serverOf())?.ref?.serverId ?? 0n);
  expect(socketRef).toHaveLength(1);
  const { socket } = await registry.getSocket(socketRef[0]?.socketId ?? 0n);
  expect(socket?.data).toMatchObject({
    streamsStarted: 3n,
    streamsSucceeded: 3n,
    messagesReceived: 3n,
    messagesSent: 3n,
  });

  expect(await post({ authorization: "Bearer wrong" })).toBe(401);
  const refused = { callsStarted: 4n, callsSucceeded: 3n, callsFailed: 1n };
  await expect.poll(async () => (await serverOf())?.data, pollOptions).toMatchObject(refused);
});

test("counts neither requests of the page and of monitors, nor streams that their client leaves, as calls", async () => {
  const started = await startTestGateway({});
  const { url, token, gateway } = started;
  const headers = { authorization: `Bearer ${token}` };
  const json = { ...headers, "content-type": "application/json" };
  for (const path of ["/healthz", "/metrics"]) expect((await fetch(`${url}${path}`, { headers })).status).toBe(200);
  for (const path of ["grpc.channelz.v1.Channelz/GetServers", "wirescope.v1.AdminService/ListServers"]) {
    const read = await fetch(`${url}/${path}`, { method: "POST", headers: json, body: "{}" });
    expect([path, read.status]).toEqual([path, 200]);
    await read.text();
  }
  const { client: reader, close } = openAdminConnection(url, { token });
  for await (const _ of reader.watchServers({})) break;
  close();
  const client = await connect(started, "legacy");
  await client.close();

  const { registry } = gateway;
  const serverOf = async () => (await registry.getServers()).server[0];
  // "initialize" and "initialized"; the SDK opens a stream with GET as well.
  const counted = { callsStarted: 2n, callsSucceeded: 2n, callsFailed: 0n };
  await expect.poll(async () => (await serverOf())?.data, pollOptions).toMatchObject(counted);
  const { socketRef } = await registry.getServerSockets((await serverOf())?.ref?.serverId ?? 0n);
  const sockets = await Promise.all(socketRef.map(({ socketId }) => registry.getSocket(socketId)));
  expect(sockets.map(({ socket }) => socket?.remoteName)).toContain("test-legacy 1.0.0");
  expect(sockets.filter(({ socket }) => socket?.data?.streamsFailed !== 0n)).toEqual([]);
});
