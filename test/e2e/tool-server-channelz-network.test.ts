import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { whyNoSocketOptions } from "@wirescope/instrument";
import { expect, onTestFinished, test } from "vitest";
import type { GrpcJsResponse } from "./grpc-js-channelz.test.helper.js";
import { serveSmall, serveSmallSse, serveSmallWs } from "./small-servers.test.helper.js";
import {
  callsOfUse,
  type ObservedProcess,
  observeThisProcess,
  openEntry,
  readOne,
  traceOf,
  transportCallsOfUse,
  useEverything,
} from "./tool-server-channelz.test.helper.js";

const certificate = (name: string): string =>
  readFileSync(new URL(`../certificates/${name}.pem`, import.meta.url), "utf8");
const loopback = Buffer.from([127, 0, 0, 1]);

test.each([
  ["http", serveSmall],
  ["sse", serveSmallSse],
  ["ws", serveSmallWs],
] as const)(
  "[CZ-SOCKET-1] shows a server of type %s once, with the addresses and options of its sockets, its calls and messages",
  async (type, serve) => {
    const url = await serve();
    const origin = url.slice(0, url.lastIndexOf("/"));
    const observed = await observeThisProcess();
    const connection = await openEntry({ type, url });
    await useEverything(connection);
    const { channel, subchannel, sockets } = await readOne(observed);
    expect(channel).toMatchObject({
      ref: { name: "everything" },
      data: { target: url, state: { state: "READY" }, ...callsOfUse },
    });
    expect(subchannel.data).toMatchObject({ target: origin, state: { state: "READY" }, ...transportCallsOfUse });
    expect(sockets.length).toBeGreaterThanOrEqual(1);
    for (const { local, remote, remote_name, security, data } of sockets) {
      expect(remote.tcpip_address).toEqual({ ip_address: loopback, port: Number(new URL(url).port) });
      expect(local.tcpip_address.ip_address).toEqual(loopback);
      expect([remote_name, security]).toEqual([undefined, undefined]);
      if (whyNoSocketOptions() === undefined) expect(data.option.map(nameOf)).toContain("TCP_INFO");
    }
    const all = [...sockets, ...(await closedSockets(observed, sockets))];
    expect(count(all, "streams_started")).toBeGreaterThanOrEqual(4);
    // Three requests, and a handshake of a request and a notification.
    expect(count(all, "messages_sent")).toBeGreaterThanOrEqual(5);
    expect(count(all, "messages_received")).toBeGreaterThanOrEqual(4);
  },
);

test("[CZ-SEC-2] shows a server behind TLS with its certificate", async () => {
  const port = Number(new URL(await serveSmall()).port);
  const secured = createTlsServer({ cert: certificate("server"), key: certificate("server-key") }, (socket) => {
    const inner = connect(port, "127.0.0.1");
    socket.on("error", () => inner.destroy()).on("close", () => inner.destroy());
    inner.on("error", () => socket.destroy());
    socket.pipe(inner).pipe(socket);
  });
  const observed = await observeThisProcess();
  const url = `https://localhost:${await listen(secured)}/mcp`;
  const connection = await openEntry({ type: "http", url }, { ca: certificate("ca") });
  await connection.listTools();
  const { sockets } = await readOne(observed);
  const { tls } = sockets[0]!.security;
  expect(tls.standard_name).toMatch(/^TLS_/);
  expect(tls.remote_certificate.toString("base64")).toBe(certificate("server").replace(/-----.*-----|\s/g, ""));
});

test("[TS-D-TENANT-1] shows two tenants of one server as two channels, by their names", async () => {
  const observed = await observeThisProcess();
  const entry = {
    type: "http",
    url: await serveSmall(),
    headers: { "X-Tenant-ID": "${TENANT_ID}" },
  };
  for (const TENANT_ID of ["acme", "umbrella"])
    await (await openEntry(entry, { variables: { TENANT_ID } })).listTools();
  const { channel } = await observed.ours.getTopChannels();
  expect(channel.map(({ ref }) => ref?.name)).toEqual([
    "everything (TENANT_ID=acme)",
    "everything (TENANT_ID=umbrella)",
  ]);
});

test("reports a refusal of the proxy for the tool server, and does not show the proxy as a server", async () => {
  const proxy = createServer();
  proxy.on("connect", (_asked, socket: Socket) => socket.end("HTTP/1.1 403 Forbidden\r\n\r\n"));
  const HTTPS_PROXY = `http://127.0.0.1:${await listen(proxy)}`;
  const observed = await observeThisProcess();
  const connection = await openEntry(
    { type: "http", url: "https://tools.example/mcp" },
    { variables: { HTTPS_PROXY } },
  );
  await expect(connection.listTools()).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
  const { channel } = await observed.read("GetTopChannels");
  expect(channel.map(({ data }: GrpcJsResponse) => data.target)).toEqual(["https://tools.example/mcp"]);
  expect(traceOf(channel[0])).toContain("the proxy returned 403");
});

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}

function count(sockets: readonly GrpcJsResponse[], counter: string): number {
  return sockets.reduce((sum, { data }) => sum + Number(data[counter] ?? 0), 0);
}

/** The sockets that have closed meanwhile: ids come from one sequence, so they are below that of the last open one. */
async function closedSockets({ read }: ObservedProcess, open: readonly GrpcJsResponse[]): Promise<GrpcJsResponse[]> {
  const ids = open.map(({ ref }) => Number(ref.socket_id));
  const found: GrpcJsResponse[] = [];
  for (let id = 1; id <= Math.max(...ids); id += 1) {
    if (ids.includes(id)) continue;
    const foundResponse = await read("GetSocket", { socket_id: id }).catch(() => undefined);
    if (foundResponse !== undefined) found.push(foundResponse.socket);
  }
  return found;
}
