import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import { ChannelzError, createRegistry, listenChannelz, type Source } from "@wirescope/channelz";
import {
  GetChannelResponseSchema,
  GetServerResponseSchema,
  GetServersResponseSchema,
  GetTopChannelsResponseSchema,
} from "@wirescope/channelz/client";
import { conformanceChecks } from "@wirescope/channelz/conform";
import { describe, expect, onTestFinished, test } from "vitest";
import { readRequirementIds } from "../requirement-citations.js";
import { runCommand } from "./command.test.helper.js";
import { root } from "./npm-start.test.helper.js";
import { startProcess, untilPrinted } from "./running-process.test.helper.js";

interface Report {
  readonly target: string;
  readonly conforms: boolean;
  readonly calls: number;
  readonly stoppedBy?: string;
  readonly rules: readonly { id: string; level: string; outcome: string; evidence: string }[];
}

/** Runs the command and returns the ids of the rules that failed. */
async function conform(target: string): Promise<{ code: number; report: Report; failed: string[]; passed: string[] }> {
  const { code, stdout } = await runCommand(["conform", "--json", "--target", target]);
  const [report]: Report[] = JSON.parse(stdout);
  if (report === undefined) throw new Error(stdout);
  const withOutcome = (outcome: string): string[] =>
    report.rules.filter((rule) => rule.outcome === outcome).map(({ id }) => id);
  return { code, report, failed: withOutcome("failed"), passed: withOutcome("passed") };
}

async function serve(source: Source): Promise<string> {
  const listener = await listenChannelz(source);
  onTestFinished(() => listener.close());
  return listener.address;
}

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-conform-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test("checks only rules that docs/requirements/channelz.md lists", () => {
  const ids = readRequirementIds(readFileSync(join(root, "docs/requirements/channelz.md"), "utf8"));
  expect(conformanceChecks.filter(({ id }) => !ids.includes(id))).toEqual([]);
});

describe("conform on our own endpoints", () => {
  test("[CZ-D-CONFORM-1] finds no deviation in a process that is observed as a whole", async () => {
    const folder = createFolder();
    const app = startProcess(process.execPath, ["--import", "@wirescope/instrument/auto", "examples/auto/app.js"], {
      cwd: root,
      env: { ...process.env, NODE_OPTIONS: "", WIRESCOPE_LISTEN: `unix:${folder}/app-{pid}.sock` },
    });
    await untilPrinted(app, /ready/);
    const { code, report, failed, passed } = await conform(`unix:${folder}/app-${app.process.pid}.sock`);
    expect(report.rules.filter(({ outcome }) => outcome === "failed")).toEqual([]);
    expect(failed).toEqual([]);
    expect(code).toBe(0);
    // It shows our own connection, so these rules are about our own traffic.
    expect(passed).toEqual(expect.arrayContaining(["CZ-SOCKET-5", "CZ-SOCKET-6", "CZ-SOCKET-13", "CZ-SOCKET-14"]));
  });

  test("finds no deviation in an empty registry, and says what does not apply", async () => {
    const { code, report } = await conform(await serve(createRegistry()));
    expect(code).toBe(0);
    expect(report.rules.find(({ id }) => id === "CZ-CHANNEL-1")).toMatchObject({
      outcome: "not-applicable",
      evidence: "no channels",
    });
  });
});

test("[CZ-D-CONFORM-1] finds exactly the known deviations of grpc-js", async () => {
  const bytes = (value: Buffer): Buffer => value;
  const watch = { path: "/wirescope.peers.Echo/Watch", requestStream: false, responseStream: true } as const;
  const codec = {
    requestSerialize: bytes,
    requestDeserialize: bytes,
    responseSerialize: bytes,
    responseDeserialize: bytes,
  };
  const server = new grpc.Server();
  server.addService(
    { watch: { ...watch, ...codec } },
    { watch: (call: grpc.ServerWritableStream<Buffer, Buffer>) => call.write(call.request) },
  );
  grpc.addAdminServicesToServer(server);
  const bind = (address: string): Promise<number> =>
    new Promise((resolve, reject) => {
      server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
  const target = `127.0.0.1:${await bind("127.0.0.1:0")}`;
  const path = `unix:${join(createFolder(), "echo.sock")}`;
  await bind(path);
  const clients = [target, path].map((address) => new grpc.Client(address, grpc.credentials.createInsecure()));
  onTestFinished(() => {
    for (const client of clients) client.close();
    server.forceShutdown();
  });
  for (const client of clients) {
    await new Promise((resolve) => {
      const stream = client.makeServerStreamRequest(watch.path, bytes, bytes, Buffer.from("hello"));
      stream.on("data", () => stream.cancel());
      stream.on("error", resolve);
    });
  }
  const { code, report, failed } = await conform(target);
  expect(code).toBe(1);
  expect(report.conforms).toBe(false);
  // Kinds that share ids, Unix sockets without addresses, cancelled streams that are not counted, and swapped windows.
  expect(failed).toEqual(["CZ-REF-2", "CZ-D-ARG-4", "CZ-SOCKET-1", "CZ-SOCKET-7", "CZ-SOCKET-13", "CZ-SOCKET-14"]);
});

describe("the output of conform", () => {
  test("[CZ-D-CONFORM-4] prints the rules that are broken, writes a JUnit file, and ends with the exit code 1", async () => {
    const registry = createRegistry();
    const held = [registry.addServer(), registry.addServer()];
    const target = await serve({
      ...sourceOf(registry),
      getServers: (request, options) => registry.getServers({ ...request, maxResults: 0 }, options),
    });
    const file = join(createFolder(), "report.xml");
    const { code, stdout } = await runCommand(["conform", "--target", target, "--junit", file]);
    expect(code).toBe(1);
    expect(stdout).toContain(`${target}  grpc.channelz.v1  deviates\n  deviates from the specification\n`);
    expect(stdout).toContain("    CZ-LIMIT-1  max_results caps a page\n      GetServers returns 2 items for");
    expect(stdout).toMatch(/^ {2}\d+ rules: \d+ passed, 1 failed, \d+ not applicable, \d+ calls$/m);
    expect(stdout).not.toContain("CZ-PAGE-3");
    const junit = readFileSync(file, "utf8");
    expect(junit).toContain('failures="1" errors="0"');
    expect(junit).toMatch(/name="CZ-LIMIT-1 max_results caps a page">\s*<failure message="GetServers returns 2/);
    const all = await runCommand(["conform", "--all", "--target", target]);
    expect(all.stdout).toContain("CZ-PAGE-3");
    expect(held).toHaveLength(2);
  });

  test("[CZ-D-CONFORM-4] ends with the exit code 3 if a target cannot be examined, and examines the others", async () => {
    const target = await serve(createRegistry());
    const file = join(createFolder(), "report.xml");
    const targets = ["--target", "127.0.0.1:1", "--target", target];
    const { code, stdout } = await runCommand(["conform", ...targets, "--junit", file]);
    expect(code).toBe(3);
    expect(stdout).toMatch(/^127\.0\.0\.1:1 {2}not examined: .*ECONNREFUSED/m);
    expect(stdout).toContain(`${target}  grpc.channelz.v1  conforms`);
    expect(readFileSync(file, "utf8")).toContain('<error message="127.0.0.1:1 cannot be reached');
  });

  test("names the file that --junit cannot write", async () => {
    const target = await serve(createRegistry());
    const { code, stderr } = await runCommand(["conform", "--target", target, "--junit", "/no/such/folder/x.xml"]);
    expect(code).toBe(2);
    expect(stderr).toContain("Cannot write the file /no/such/folder/x.xml (--junit): the folder does not exist.");
  });
});

function sourceOf(source: Source): Source {
  return {
    getTopChannels: (...args) => source.getTopChannels(...args),
    getServers: (...args) => source.getServers(...args),
    getServer: (...args) => source.getServer(...args),
    getServerSockets: (...args) => source.getServerSockets(...args),
    getChannel: (...args) => source.getChannel(...args),
    getSubchannel: (...args) => source.getSubchannel(...args),
    getSocket: (...args) => source.getSocket(...args),
  };
}

describe("conform on a hostile endpoint", () => {
  const quiet = (): Source => sourceOf(createRegistry());
  const controls = "\u001b[31m\u0007\u202e\u0000]]><script>";
  let counter = 1_000_000n;

  const hostile: Readonly<Record<string, () => Source>> = {
    "never ends its pages": () => ({
      ...quiet(),
      async getServers({ startId = 0 } = {}) {
        const server = Array.from({ length: 50 }, (_, n) => ({ ref: { serverId: BigInt(startId) + BigInt(n + 1) } }));
        return create(GetServersResponseSchema, { server, end: false });
      },
      getServer: async (id) => create(GetServerResponseSchema, { server: { ref: { serverId: BigInt(id) } } }),
    }),
    "has channels that are below themselves": () => ({
      ...quiet(),
      getTopChannels: async () =>
        create(GetTopChannelsResponseSchema, { channel: [{ ref: { channelId: 1n } }], end: true }),
      async getChannel(id) {
        const channelRef = Array.from({ length: 100 }, (_, n) => ({ channelId: BigInt(id) + BigInt(n) }));
        return create(GetChannelResponseSchema, { channel: { ref: { channelId: BigInt(id) }, channelRef } });
      },
    }),
    "sends huge strings and control characters": () => ({
      ...quiet(),
      async getTopChannels() {
        const data = { target: controls + "x".repeat(1_000_000) };
        const channel = [1n, 2n, 3n].map((channelId) => ({ ref: { channelId, name: controls }, data }));
        return create(GetTopChannelsResponseSchema, { channel, end: true });
      },
      getChannel: async (id) =>
        create(GetChannelResponseSchema, {
          channel: { ref: { channelId: BigInt(id) }, data: { target: `${controls}${"y".repeat(1_000_000)}` } },
        }),
      getSocket: async () => {
        throw new ChannelzError("PEER_FAILED", controls.repeat(1000));
      },
    }),
    "has counters that go backwards": () => ({
      ...quiet(),
      getTopChannels: async () =>
        create(GetTopChannelsResponseSchema, {
          channel: [{ ref: { channelId: 1n }, data: { callsStarted: 2n ** 62n } }],
          end: true,
        }),
      async getChannel(id) {
        counter -= 1n;
        const data = { callsStarted: counter, callsFailed: -(2n ** 62n) };
        return create(GetChannelResponseSchema, { channel: { ref: { channelId: BigInt(id) }, data } });
      },
    }),
  };

  test.each(Object.entries(hostile))(
    "[CZ-D-CONFORM-3] ends within its limits if the endpoint %s",
    async (_, source) => {
      const target = await serve(source());
      const file = join(createFolder(), "report.xml");
      const started = Date.now();
      const { code, stdout } = await runCommand(["conform", "--all", "--target", target, "--junit", file]);
      expect([1, 3]).toContain(code);
      expect(Date.now() - started).toBeLessThan(120_000);
      const junit = readFileSync(file, "utf8");
      for (const text of [stdout, junit]) {
        expect(text.length).toBeLessThan(100_000);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
        expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
      }
      expect(junit).not.toContain("<script>");
    },
  );

  test("[CZ-D-CONFORM-3] gives up on an endpoint that stops responding, with what it saw until then", async () => {
    const target = await serve({ ...quiet(), getTopChannels: () => new Promise(() => {}) });
    const { code, stdout } = await runCommand(["conform", "--target", target, "--timeout", "2s"]);
    expect(code).toBe(3);
    expect(stdout).toMatch(/^ {2}ended early: .*did not respond/m);
  });
});
