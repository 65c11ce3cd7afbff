import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { listenChannelz, type Source } from "@wirescope/channelz";
import {
  GetChannelResponseSchema,
  GetServerResponseSchema,
  GetServerSocketsResponseSchema,
  GetServersResponseSchema,
  GetSocketResponseSchema,
  GetSubchannelResponseSchema,
  GetTopChannelsResponseSchema,
  ChannelTraceEvent_Severity as Severity,
  ChannelConnectivityState_State as State,
} from "@wirescope/channelz/client";
import { openRecording } from "@wirescope/channelz/timeline/node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand, startCommand } from "./command.test.helper.js";
import { endOf, untilPrinted } from "./running-process.test.helper.js";

/** The tests of commands at hostile endpoints: with names of this length, and at most this many characters of output. */
export function testHostileEndpoints({ nameLength, maxOutput }: { nameLength: number; maxOutput: number }): void {
  const evil = `\u001b]0;owned\u0007\u001b[2J\u202e${"x".repeat(nameLength)}`;
  const trace = {
    events: Array.from({ length: 5 }, () => ({
      description: `-> TRANSIENT_FAILURE: ${evil}`,
      severity: Severity.CT_WARNING,
    })),
  };
  const data = {
    state: { state: State.TRANSIENT_FAILURE },
    target: evil,
    callsStarted: -1n,
    callsFailed: 2n ** 63n - 1n,
    trace,
  };

  /** Pages that never end, references that form cycles, huge names with control characters, counters without sense. */
  const hostile: Source = {
    getTopChannels: async ({ startId = 0n } = {}) => {
      const id = BigInt(startId) > 0n ? BigInt(startId) : 1n;
      return create(GetTopChannelsResponseSchema, {
        channel: [
          {
            ref: { channelId: id, name: evil },
            data,
            subchannelRef: [{ subchannelId: 1n }],
            channelRef: [{ channelId: id }],
          },
        ],
        end: false,
      });
    },
    getServers: async ({ startId = 0n } = {}) => {
      const id = BigInt(startId) > 0n ? BigInt(startId) : 1n;
      return create(GetServersResponseSchema, {
        server: [{ ref: { serverId: id, name: evil }, listenSocket: [{ socketId: id, name: evil }] }],
        end: false,
      });
    },
    getServer: async (id) => create(GetServerResponseSchema, { server: { ref: { serverId: BigInt(id), name: evil } } }),
    getServerSockets: async (_, { startId = 0n } = {}) => {
      const id = BigInt(startId) > 0n ? BigInt(startId) : 1n;
      return create(GetServerSocketsResponseSchema, { socketRef: [{ socketId: id, name: evil }], end: false });
    },
    getChannel: async (id) =>
      create(GetChannelResponseSchema, {
        channel: { ref: { channelId: BigInt(id) }, data, channelRef: [{ channelId: 1n }] },
      }),
    getSubchannel: async (id) =>
      create(GetSubchannelResponseSchema, {
        subchannel: {
          ref: { subchannelId: BigInt(id), name: evil },
          data,
          subchannelRef: [{ subchannelId: BigInt(id) }],
        },
      }),
    getSocket: async (id) =>
      create(GetSocketResponseSchema, {
        socket: {
          ref: { socketId: BigInt(id), name: evil },
          remoteName: evil,
          local: { address: { case: "tcpipAddress", value: { ipAddress: new Uint8Array(3), port: -5 } } },
          security: { model: { case: "tls", value: { localCertificate: new Uint8Array(200_000) } } },
        },
      }),
  };

  const listeners: Awaited<ReturnType<typeof listenChannelz>>[] = [];
  let targets: string[] = [];

  beforeAll(async () => {
    listeners.push(await listenChannelz(hostile), await listenChannelz(hostile));
    targets = listeners.map(({ address }) => address);
  });

  afterAll(async () => {
    for (const listener of listeners) await listener.close();
  });

  const limit = ["--max-objects", "3"];

  test.each([
    ["channels", ...limit],
    ["channels", "--group", "--failing", ...limit],
    ["servers", ...limit],
    ["sockets", "--group", ...limit],
    ["tree", ...limit],
    ["summary", ...limit],
    ["find", "owned", ...limit],
    ["find", "no such string", ...limit],
    ["show", "1", "--kind", "channel"],
  ])("[CZ-D-CLI-12] survives a hostile endpoint: %s %s %s", async (...argv) => {
    const { code, stdout, stderr } = await runCommand([...argv, "--no-color", "--target", targets[0] ?? ""], {
      columns: 80,
    });
    expect(code).toBe(argv[0] === "show" ? 0 : 1);
    for (const character of ["\u001b", "\u0007", "\u202e"]) expect(stdout + stderr).not.toContain(character);
    expect(stdout.length + stderr.length).toBeLessThan(maxOutput);
  });

  test("[CZ-D-CLI-12] survives several hostile endpoints at once, also when connections are stitched", async () => {
    const both = targets.flatMap((target) => ["--target", target]);
    for (const argv of [
      ["tree", "--stitch", ...limit],
      ["channels", "--json", ...limit],
    ]) {
      const { code, stdout } = await runCommand([...argv, ...both]);
      expect(code).toBe(1);
      expect(stdout).not.toContain("\u001b");
    }
  });

  test("[CZ-D-CLI-12] ends at the deadline if every response is slow", async () => {
    const never: Source = {
      ...hostile,
      getTopChannels: () => new Promise(() => {}),
      getServers: () => new Promise(() => {}),
    };
    const listener = await listenChannelz(never);
    listeners.push(listener);
    for (const verb of ["channels", "summary"]) {
      const { code, stderr } = await runCommand([verb, "--timeout", "200ms", "--target", listener.address]);
      expect(code).toBe(1);
      expect(stderr).toMatch(/did not respond to .* within 200 ms/);
    }
  });

  const quick = ["--interval", "50ms", ...limit];

  test.each([
    ["explain", "--for", "100ms", ...quick],
    ["explain", "--json", "--for", "100ms", ...quick],
    ["top", "--once", ...quick],
    ["top", "--once", "--json", ...quick],
    ["watch", "--json", "--for", "1s", ...quick],
    ["watch", "--until", "TRANSIENT_FAILURE", "--for", "3s", ...quick],
  ])("[CZ-D-CLI-12] says that what it saw of a hostile endpoint over time is partial: %s %s %s", async (...argv) => {
    const { code, stdout, stderr } = await runCommand([...argv, "--no-color", "--target", targets[0] ?? ""], {
      columns: 80,
    });
    expect(code).toBe(1);
    expect(stderr).toContain("The output is partial.");
    for (const character of ["\u001b", "\u0007", "\u202e"]) expect(stdout + stderr).not.toContain(character);
    expect(stdout.length + stderr.length).toBeLessThan(maxOutput);
  });

  /** The output contains no control characters from a peer, and is limited. */
  function expectHarmless(...texts: string[]): void {
    for (const character of ["\u001b", "\u0007", "\u202e"]) expect(texts.join("")).not.toContain(character);
    expect(texts.join("").length).toBeLessThan(maxOutput);
  }

  test("[CZ-D-CLI-12] records a hostile endpoint within its limits, and replays and compares the recording", async () => {
    const folder = mkdtempSync(join(tmpdir(), "wirescope-"));
    const file = join(folder, "hostile.wsr");
    try {
      const recording = await runCommand(
        [
          "record",
          file,
          "--for",
          "1s",
          "--max-size",
          "20MB",
          "--interval",
          "50ms",
          ...limit,
          "--target",
          targets[0] ?? "",
        ],
        { columns: 80 },
      );
      expect(recording.code).toBe(0);
      expect(recording.stderr).toContain("The recording is partial.");
      expectHarmless(recording.stdout, recording.stderr);
      expect(statSync(file).size).toBeLessThanOrEqual(20_000_000);
      // On a busy machine there may be a single moment.
      const opened = openRecording(file);
      const recordedAt = new Date(opened.range()?.firstMs ?? 0).toISOString();
      opened.close();
      for (const argv of [
        ["diff", file, file],
        ["diff", `${file}@${recordedAt}`, file, "--json"],
        ["watch", "--target", file],
        ["top", "--once", "--target", file],
        ["explain", "--target", file],
        ["channels", "--target", file, ...limit],
      ]) {
        const { code, stdout, stderr } = await runCommand([...argv, "--no-color"], { columns: 80 });
        expect(code, argv.join(" ") + stderr).toBeLessThan(2);
        expectHarmless(stdout, stderr);
      }
      const replay = startCommand(["replay", file, "--json"]);
      const { target } = JSON.parse(await untilPrinted(replay, /\n/));
      const { stdout, stderr } = await runCommand(["channels", "--no-color", ...limit, "--target", target], {
        columns: 80,
      });
      expectHarmless(stdout, stderr);
      replay.process.kill("SIGINT");
      expect((await endOf(replay)).code).toBe(0);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("[CZ-D-CLI-12] compares and examines hostile endpoints", async () => {
    const [first = "", second = ""] = targets;
    for (const argv of [
      ["diff", first, second, "--window", "50ms", ...limit],
      ["conform", "--target", first],
    ]) {
      const { code, stdout, stderr } = await runCommand([...argv, "--no-color"], { columns: 80 });
      expect(code, argv.join(" ") + stderr).toBeLessThan(4);
      if (argv[0] === "diff") expect(stderr).toContain(`${second} is partial. `);
      expectHarmless(stdout, stderr);
    }
  });

  test("[CZ-D-CLI-12] exports metrics of a hostile endpoint and of one that hangs, with few labels", async () => {
    const silent: Source = {
      ...hostile,
      getTopChannels: () => new Promise(() => {}),
      getServers: () => new Promise(() => {}),
    };
    const listener = await listenChannelz(silent);
    listeners.push(listener);
    const options = ["--listen", "127.0.0.1:0", "--interval", "50ms", "--timeout", "500ms", ...limit, "--json"];
    const running = startCommand([
      "export",
      ...options,
      ...["--target", `hostile=${targets[0]}`, "--target", `silent=${listener.address}`],
    ]);
    const { metrics } = JSON.parse(await untilPrinted(running, /\n/));
    const read = async (): Promise<string> => (await fetch(metrics)).text();
    await expect.poll(read).toContain('channelz_up{process="silent"} 0');
    const text = await read();
    expectHarmless(text.replaceAll("\u202e", ""));
    expect(text).not.toMatch(/_total\{.*\} -/);
    expect(text.split("\n").length).toBeLessThan(200);
    running.process.kill("SIGINT");
    await running.ended;
  });
}
