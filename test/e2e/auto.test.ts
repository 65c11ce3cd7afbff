import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Channel, connectChannelz, type Server } from "@wirescope/channelz";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { freePort } from "../free-port.test.helper.js";
import { root } from "./npm-start.test.helper.js";
import { endOf, type RunningProcess, startProcess, untilPrinted } from "./running-process.test.helper.js";

const pollOptions = { timeout: 60_000, interval: 20 };
const announced = /Channelz of process \d+ on (\S+)\n/;
const announcedOnce = /^wirescope: Channelz of process \d+ on \S+\n$/;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "wirescope-auto-"));
});

afterEach(() => rmSync(folder, { recursive: true }));

function start(env: Record<string, string>, ...args: string[]): RunningProcess {
  return startProcess(process.execPath, ["--import", "@wirescope/instrument/auto", ...args], {
    cwd: root,
    env: { ...process.env, NODE_OPTIONS: "", ...env },
  });
}

test("shows everything that an unmodified process serves and calls", async () => {
  const app = start({ WIRESCOPE_LISTEN: `unix:${folder}/app-{pid}.sock` }, "examples/auto/app.js");
  await untilPrinted(app, /ready/);
  const source = connectChannelz(`unix:${folder}/app-${app.process.pid}.sock`);
  const calls = ({ data }: Channel | Server): bigint[] => [data!.callsStarted, data!.callsSucceeded, data!.callsFailed];
  await vi.waitFor(async () => {
    const { server } = await source.getServers();
    expect(server.filter(({ ref }) => ref?.name === "").map(calls)).toEqual([
      [1n, 1n, 0n],
      [1n, 1n, 0n],
    ]);
    expect((await source.getTopChannels()).channel.map(calls)).toEqual([
      [1n, 1n, 0n],
      [1n, 1n, 0n],
    ]);
  }, pollOptions);
  await source.close();
  app.process.stdin.write("enough\n");
  expect(await endOf(app)).toMatchObject({
    code: 0,
    stderr: `wirescope: Channelz of process ${app.process.pid} on unix:${folder}/app-${app.process.pid}.sock\n`,
    stdout: expect.stringContaining("hello from HTTP/2"),
  });
  expect(readdirSync(folder)).toEqual([]);
});

test("[CZ-OP-3] lists every server of a process in GetServers, whatever created it, and marks our own", async () => {
  const pem = (name: string): string => JSON.stringify(join(root, "test", "certificates", name));
  const app = start(
    { WIRESCOPE_LISTEN: "127.0.0.1:0" },
    "--input-type=module",
    "--eval",
    `import { readFileSync } from "node:fs";
     import http from "node:http";
     import http2 from "node:http2";
     import https from "node:https";
     import { connectNodeAdapter } from "@connectrpc/connect-node";
     import * as grpc from "@grpc/grpc-js";
     import express from "express";
     const tls = { cert: readFileSync(${pem("server.pem")}), key: readFileSync(${pem("server-key.pem")}) };
     const portOf = (server) => new Promise((resolve) => {
       server.listen(0, "127.0.0.1", () => resolve(server.address().port));
     });
     const rpc = connectNodeAdapter({ routes: () => {} });
     const bound = (server) => new Promise((resolve, reject) => {
       const credentials = grpc.ServerCredentials.createInsecure();
       server.bindAsync("127.0.0.1:0", credentials, (error, port) => (error ? reject(error) : resolve(port)));
     });
     const ports = {
       http: await portOf(http.createServer()),
       https: await portOf(https.createServer(tls)),
       http2: await portOf(http2.createServer()),
       "http2 over TLS": await portOf(http2.createSecureServer({ ...tls, allowHTTP1: true })),
       "connect-node over HTTP/1.1": await portOf(http.createServer(rpc)),
       "connect-node over HTTP/2": await portOf(http2.createServer(rpc)),
       express: await portOf(http.createServer(express())),
       "grpc-js": await bound(new grpc.Server()),
     };
     console.log(JSON.stringify(ports));
     process.stdin.once("data", () => process.exit());`,
  );
  const ports: Record<string, number> = JSON.parse(await untilPrinted(app, /\n/));
  expect(Object.keys(ports)).toHaveLength(8);
  await expect.poll(() => app.stderr).toMatch(announced);
  const [, address = ""] = announced.exec(app.stderr) ?? [];
  const source = connectChannelz(address);
  const { server, end } = await source.getServers();
  expect(end).toBe(true);
  const listed = await Promise.all(
    server.map(async ({ ref, listenSocket }) => {
      const { socket } = await source.getSocket(listenSocket[0]?.socketId ?? 0n);
      const local = socket?.local?.address;
      return [local?.case === "tcpipAddress" ? local.value.port : undefined, ref?.name];
    }),
  );
  const { "grpc-js": grpcJs, express, ...unnamed } = ports;
  const expected = [
    ...Object.values(unnamed).map((port) => [port, ""]),
    [grpcJs, "grpc-js"],
    [express, "express"],
    [Number(address.split(":")[1]), "channelz (wirescope)"],
  ];
  expect(new Map(listed as [number, string][])).toEqual(new Map(expected as [number, string][]));
  expect(listed).toHaveLength(expected.length);
  // The reads of this test are calls of the listener, over a separate connection.
  const own = server.find(({ ref }) => ref?.name === "channelz (wirescope)");
  const { server: again } = await source.getServer(own?.ref?.serverId ?? 0n);
  expect(again?.data?.callsStarted).toBeGreaterThan(own?.data?.callsStarted ?? 0n);
  expect((await source.getServerSockets(own?.ref?.serverId ?? 0n)).socketRef).toHaveLength(1);
  await source.close();
  app.process.stdin.write("enough\n");
  expect(await endOf(app)).toMatchObject({ code: 0 });
});

test("shows requests of the global fetch with their connection, and why connect-node, grpc-js and fetch cannot reach targets", async () => {
  const app = start(
    { WIRESCOPE_LISTEN: `unix:${folder}/app-{pid}.sock` },
    "--input-type=module",
    "--eval",
    `import { createServer } from "node:http";
     import * as grpc from "@grpc/grpc-js";
     import { createClient } from "@connectrpc/connect";
     import { createGrpcTransport } from "@connectrpc/connect-node";
     import { Shop } from "./examples/connect-node/shop.js";
     // Otherwise the client closes the idle connection after four seconds.
     const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => response.end("hello"));
     await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
     const url = \`http://127.0.0.1:\${server.address().port}\`;
     await (await fetch(url)).text();
     await fetch("http://127.0.0.1:3").catch(() => console.log("fetched", url));
     const shop = createClient(Shop, createGrpcTransport({ baseUrl: "http://127.0.0.1:1" }));
     await shop.buy({ value: "apples" }).catch(({ code }) => console.log("connect-node", code));
     const client = new grpc.Client("127.0.0.1:2", grpc.credentials.createInsecure());
     const bytes = (value) => Buffer.from(value);
     client.makeUnaryRequest("/example.Shop/Buy", bytes, bytes, "pears", ({ code }) => console.log("grpc-js", code));
     process.stdin.once("data", () => process.exit());`,
  );
  const printed = await untilPrinted(app, /fetched \S+\nconnect-node 14\ngrpc-js 14\n/);
  const source = connectChannelz(`unix:${folder}/app-${app.process.pid}.sock`);
  await vi.waitFor(async () => {
    const { channel } = await source.getTopChannels();
    const shown = channel.map(({ data }) => ({
      target: data?.target,
      state: data?.state?.state,
      hasCause: data?.trace?.events.some(({ description }) => /TRANSIENT_FAILURE: .*ECONNREFUSED/.test(description)),
      calls: [data?.callsStarted, data?.callsSucceeded, data?.callsFailed],
    }));
    // Only the connections of connect-node are observed, and a call without a connection has none.
    expect(shown).toEqual([
      { target: /fetched (\S+)/.exec(printed)?.[1], state: 3, hasCause: false, calls: [1n, 1n, 0n] },
      { target: "http://127.0.0.1:3", state: 4, hasCause: true, calls: [1n, 0n, 1n] },
      { target: "http://127.0.0.1:1", state: 4, hasCause: true, calls: [0n, 0n, 0n] },
      { target: "127.0.0.1:2", state: 4, hasCause: true, calls: [1n, 0n, 1n] },
    ]);
  }, pollOptions);
  await source.close();
  app.process.stdin.write("enough\n");
  expect(await endOf(app)).toMatchObject({ code: 0, stderr: expect.stringMatching(announcedOnce) });
});

test("serves only clients of mutual TLS if certificate files are set", async () => {
  const pem = (name: string): string => join(root, "test", "certificates", name);
  const app = start(
    {
      WIRESCOPE_LISTEN: "127.0.0.1:0",
      WIRESCOPE_CERT_FILE: pem("server.pem"),
      WIRESCOPE_KEY_FILE: pem("server-key.pem"),
      WIRESCOPE_CLIENT_CA_FILE: pem("ca.pem"),
    },
    "examples/auto/app.js",
  );
  await untilPrinted(app, /ready/);
  await expect.poll(() => app.stderr).toMatch(announced);
  const [, address = ""] = announced.exec(app.stderr) ?? [];
  const ca = readFileSync(pem("ca.pem"), "utf8");
  const [cert, key] = ["client.pem", "client-key.pem"].map((name) => readFileSync(pem(name), "utf8"));
  const source = connectChannelz(address, { tls: { ca, cert, key, serverName: "localhost" } });
  const own = (await source.getServers()).server.find(({ ref }) => ref?.name === "channelz (wirescope)");
  const { socketRef } = await source.getServerSockets(own?.ref?.serverId ?? 0n);
  const { socket } = await source.getSocket(socketRef[0]?.socketId ?? 0n);
  expect(socket?.security?.model.case).toBe("tls");
  const stranger = connectChannelz(address, { tls: { ca, serverName: "localhost" } });
  await expect(stranger.getServers()).rejects.toMatchObject({ name: "ChannelzError" });
  await Promise.all([source.close(), stranger.close()]);
  app.process.stdin.write("enough\n");
  expect(await endOf(app)).toMatchObject({ code: 0 });
});

test("lets a process exit when its work is done, although a listener is open", async () => {
  const job = start({ WIRESCOPE_LISTEN: "127.0.0.1:0" }, "-e", "console.log('done')");
  const { stderr, ...rest } = await endOf(job);
  expect(rest).toEqual({ code: 0, stdout: "done\n" });
  expect(stderr).toMatch(announcedOnce);
});

test.each(["unix:{folder}/app-{pid}.sock", "127.0.0.1:{port}"])(
  "prints one line and no warning if a worker thread starts, because the main thread listens on %s",
  async (address) => {
    const WIRESCOPE_LISTEN = address.replace("{folder}", folder).replace("{port}", String(await freePort()));
    // The options of Node, such as --import, also apply to the module of a thread.
    const thread = `new URL("data:text/javascript,console.log('done')")`;
    const job = start({ WIRESCOPE_LISTEN }, "-e", `new (require("node:worker_threads").Worker)(${thread})`);
    expect(await endOf(job)).toEqual({
      code: 0,
      stdout: "done\n",
      stderr: expect.stringMatching(announcedOnce),
    });
  },
);

test("shows a worker thread at the address if only the thread is started with the instrument, and not the process", async () => {
  const WIRESCOPE_LISTEN = `unix:${folder}/{pid}.sock`;
  const server =
    'import { createServer } from "node:http"; createServer().listen(0, "127.0.0.1", () => console.log("ready"));';
  const execArgv = JSON.stringify(["--import", "@wirescope/instrument/auto"]);
  const thread = `new URL(${JSON.stringify(`data:text/javascript,${encodeURIComponent(server)}`)})`;
  const program = `const { Worker } = require("node:worker_threads"); const start = () => new Worker(${thread}, { execArgv: ${execArgv} });
    start(); process.stdin.once("data", () => start().once("exit", process.exit)).once("end", process.exit);`;
  const env = { ...process.env, NODE_OPTIONS: "", WIRESCOPE_LISTEN };
  const app = startProcess(process.execPath, ["-e", program], { cwd: root, env });
  await untilPrinted(app, /ready/);
  const source = connectChannelz(`unix:${folder}/${app.process.pid}.sock`);
  const { server: servers } = await source.getServers();
  expect(servers.filter(({ ref }) => ref?.name === "")).toHaveLength(1);
  await source.close();

  // The address is in use now, so a second thread says that it is not observed.
  app.process.stdin.write("again\n");
  await untilPrinted(app, /ready\nready\n/);
  app.process.stdin.end();
  const { stderr } = await endOf(app);
  expect(stderr.match(/This worker thread is not observed\./g)).toHaveLength(1);
  expect(stderr).toContain("WIRESCOPE_NOT_OBSERVED");
});

test.each([
  ["the application ignores it", ""],
  ["the application exits then", 'process.on("SIGTERM", () => process.exit(7));'],
])("ends at SIGTERM as without the instrument, and removes its Unix socket, if %s", async (_case, listener) => {
  const WIRESCOPE_LISTEN = `unix:${folder}/app-{pid}.sock`;
  const app = start({ WIRESCOPE_LISTEN }, "-e", `${listener} setInterval(() => {}, 1000);`);
  await expect.poll(() => app.stderr).toMatch(announcedOnce);
  app.process.kill("SIGTERM");
  await once(app.process, "exit");
  expect([app.process.exitCode, app.process.signalCode]).toEqual(listener === "" ? [null, "SIGTERM"] : [7, null]);
  expect(readdirSync(folder)).toEqual([]);
});

test("emits a warning for an unusable setting, and the application runs", async () => {
  const job = start({ WIRESCOPE_LISTEN: "unix:/nowhere/at/all.sock" }, "-e", "console.log('done')");
  const { stderr, ...rest } = await endOf(job);
  expect(rest).toEqual({ code: 0, stdout: "done\n" });
  expect(stderr).toContain("WIRESCOPE_NOT_OBSERVED");
});
