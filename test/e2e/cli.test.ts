import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ChannelzListener,
  createRegistry,
  type ListenOptions,
  listenChannelz,
  type Registry,
  tcpInfoOption,
} from "@wirescope/channelz";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Run, type RunSetting, runCommand, startCommand } from "./command.test.helper.js";

const folder = mkdtempSync(join(tmpdir(), "wirescope-"));
const listeners: ChannelzListener[] = [];
let registry: Registry;
let target = "";
const ids = { channel: 0, failing: 0, subchannel: 0, socket: 0, server: 0, listening: 0, connection: 0 };
// The registry removes objects that an application drops, so they are referenced here.
const held: unknown[] = [];

async function listen(options: ListenOptions = {}): Promise<string> {
  const listener = await listenChannelz(registry, options);
  listeners.push(listener);
  return listener.address;
}

function wirescope(argv: readonly string[], { env, columns }: RunSetting = {}): Promise<Run> {
  return runCommand(argv, { env: { WIRESCOPE_TARGET: target, ...env }, columns });
}

async function json(...argv: string[]): Promise<unknown> {
  const { code, stdout, stderr } = await wirescope([...argv, "--json"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}

beforeAll(async () => {
  registry = createRegistry();
  const channel = registry.addChannel({ target: "dns:///api.example:443", name: "api" });
  channel.callStarted();
  channel.callStarted();
  channel.callSucceeded();
  channel.callFailed();
  channel.setState("CONNECTING");
  channel.setState("READY");
  const subchannel = registry.addSubchannel({ parent: channel, target: "127.0.0.1:443" });
  const socket = registry.addSocket({
    parent: subchannel,
    local: { ip: "127.0.0.1", port: 50_000 },
    remote: { ip: "::1", port: 443 },
    subject: registry,
    describe: () => ({ options: [tcpInfoOption({ tcpiState: 1, tcpiRtt: 1234 })] }),
  });
  socket.localStreamStarted();
  socket.messageSent();
  const failing = registry.addChannel({ target: "evil\u001b[2J\u202etarget" });
  failing.setState("CONNECTING");
  failing.setState("TRANSIENT_FAILURE", "connect ECONNREFUSED");
  const server = registry.addServer({ name: "web" });
  const listening = registry.addListenSocket({ server, local: { ip: "127.0.0.1", port: 8080 } });
  const connections = Array.from({ length: 3 }, (_, n) =>
    registry.addSocket({
      server,
      local: { ip: "127.0.0.1", port: 8080 },
      remote: { ip: "127.0.0.1", port: 10_000 + n },
    }),
  );
  held.push(channel, subchannel, socket, failing, server, listening, connections);
  Object.assign(ids, {
    channel: channel.id,
    failing: failing.id,
    subchannel: subchannel.id,
    socket: socket.id,
    server: server.id,
    listening: listening.id,
    connection: connections[0]?.id,
  });
  target = await listen();
});

afterAll(async () => {
  for (const listener of listeners) await listener.close();
  rmSync(folder, { recursive: true });
});

describe("lists", () => {
  test("shows state, target, name and counts of channels", async () => {
    const { code, stdout } = await wirescope(["channels"]);
    expect(code).toBe(0);
    const [heading, first, second, summary] = stdout.split("\n");
    expect(heading).toMatch(/^ID +STATE +TARGET +NAME +CALLS +OK +FAILED +LAST CALL +FOR +REASON$/);
    expect(first).toMatch(
      /TRANSIENT_FAILURE +evil\\x1b\[2J\\u202etarget +- +0 +0 +0 +never +\d+ m?s +connect ECONNREFUSED$/,
    );
    expect(second).toMatch(/READY +dns:\/\/\/api\.example:443 +api +2 +1 +1 +(just now|\d+ s ago) +- +-$/);
    expect(summary).toBe("2 channels: 1 TRANSIENT_FAILURE, 1 READY");
  });

  test("shows where servers listen", async () => {
    const { stdout } = await wirescope(["servers"]);
    expect(stdout).toMatch(/127\.0\.0\.1:8080 +web/);
  });

  test("shows the sockets of channels and servers with their addresses", async () => {
    const { stdout } = await wirescope(["sockets"]);
    expect(stdout).toMatch(/client +subchannel \d+ +127\.0\.0\.1:50000 +\[::1\]:443/);
    expect(stdout).toMatch(/listen +server \d+ +127\.0\.0\.1:8080 +-/);
  });

  test("follows every page of sockets", async () => {
    const crowded = createRegistry();
    const server = crowded.addServer();
    // A page has 100 sockets.
    const sockets = Array.from({ length: 101 }, () => crowded.addSocket({ server }));
    held.push(server, sockets);
    await using listener = await listenChannelz(crowded);
    const { stdout } = await wirescope(["sockets", "--target", listener.address]);
    // A heading, and the summary.
    expect(stdout.trimEnd().split("\n")).toHaveLength(1 + sockets.length + 1);
  });

  test("shows only the sockets of one server with --server", async () => {
    const sockets = (await json("sockets", "--server", String(ids.server))) as { owner: { kind: string } }[];
    // The connections, and the one that listens.
    expect(sockets).toHaveLength(4);
    expect((await wirescope(["sockets", "--server", "99999"])).code).toBe(1);
  });

  test("prints a sentence for an empty list, and an empty array in JSON", async () => {
    const empty = await listenChannelz(createRegistry());
    try {
      for (const verb of ["channels", "servers", "sockets"]) {
        expect(await wirescope([verb, "--target", empty.address])).toMatchObject({ code: 0, stdout: `No ${verb}.\n` });
        expect((await wirescope([verb, "--json", "--target", empty.address])).stdout).toBe("[]\n");
      }
    } finally {
      await empty.close();
    }
  });

  test("prints no line wider than the terminal, and truncates nothing elsewhere", async () => {
    for (const verb of ["channels", "servers", "sockets", "tree"]) {
      const { stdout } = await wirescope([verb, "--no-color"], { columns: 50 });
      for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(50);
      expect((await wirescope([verb])).stdout).not.toContain("…");
    }
  });
});

describe("--json", () => {
  test("prints lists as one array of messages in the JSON form of proto3", async () => {
    expect(await json("channels")).toMatchObject([
      {
        ref: { channelId: String(ids.channel), name: "api" },
        data: { state: { state: "READY" }, target: "dns:///api.example:443", callsStarted: "2", callsFailed: "1" },
        subchannelRef: [{ subchannelId: String(ids.subchannel) }],
      },
      { ref: { channelId: String(ids.failing) }, data: { target: "evil\u001b[2J\u202etarget" } },
    ]);
    expect(await json("servers")).toMatchObject([{ ref: { serverId: String(ids.server), name: "web" } }]);
    const sockets = (await json("sockets")) as unknown[];
    expect(sockets).toContainEqual(
      expect.objectContaining({
        ref: { socketId: String(ids.socket), name: expect.any(String) },
        owner: { role: "client", kind: "subchannel", id: String(ids.subchannel), name: expect.any(String) },
      }),
    );
  });

  test("prints show as the message with its kind", async () => {
    expect(await json("show", String(ids.socket))).toMatchObject({
      kind: "socket",
      ref: { socketId: String(ids.socket) },
      data: { option: [{ name: "TCP_INFO", additional: { tcpiRtt: 1234 } }] },
    });
  });

  test("prints tree as nodes with their children", async () => {
    expect(await json("tree")).toMatchObject({
      channels: [
        {
          kind: "channel",
          data: { state: { state: "READY" } },
          children: [{ kind: "subchannel", children: [{ kind: "socket", role: "client" }] }],
        },
        { kind: "channel", children: [] },
      ],
      servers: [{ kind: "server", children: expect.arrayContaining([expect.objectContaining({ role: "listen" })]) }],
      isComplete: true,
    });
  });
});

describe("show", () => {
  test("finds the kind of an id", async () => {
    for (const [kind, id] of [
      ["channel", ids.channel],
      ["subchannel", ids.subchannel],
      ["server", ids.server],
      ["socket", ids.listening],
    ] as const) {
      expect((await wirescope(["show", String(id)])).stdout).toMatch(new RegExp(`^${kind} ${id}\\b`));
    }
  });

  test("shows everything about a channel, including its trace with severities", async () => {
    const { stdout } = await wirescope(["show", String(ids.failing)]);
    expect(stdout).toContain("TRANSIENT_FAILURE");
    expect(stdout).toMatch(/trace {2}\d+ events; created (just now|\d+ s ago) \(\d{4}-/);
    expect(stdout).toMatch(/warning +.*connect ECONNREFUSED/);
  });

  test("shows everything about a socket, with TCP_INFO decoded", async () => {
    const { stdout } = await wirescope(["show", String(ids.socket)]);
    expect(stdout).toMatch(/local +127\.0\.0\.1:50000/);
    expect(stdout).toMatch(/remote +\[::1\]:443/);
    expect(stdout).toMatch(/streams +1 started, 0 succeeded, 0 failed/);
    expect(stdout).toMatch(/tcpi_state +1 ESTABLISHED/);
    expect(stdout).toMatch(/tcpi_rtt +1234 µs/);
  });

  test("exits with code 1 for an unknown id and says what to do next", async () => {
    const { code, stdout, stderr } = await wirescope(["show", "999999"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^wirescope: .* has no open object 999999; wirescope tree .*--kind socket\.\n$/);
    expect((await wirescope(["show", String(ids.channel), "--kind", "socket"])).code).toBe(1);
  });
});

test("draws channels down to their sockets, and servers with theirs", async () => {
  const { stdout } = await wirescope(["tree"]);
  const [title, first, second, third] = stdout.split("\n");
  expect(title).toBe("channels");
  expect(first).toMatch(/^├─ channel \d+ {2}READY {2}dns:\/\/\/api\.example:443 {2}api {2}2 calls, 1 failed$/);
  expect(second).toMatch(/^│ {2}└─ subchannel \d+ {2}IDLE {2}127\.0\.0\.1:443/);
  expect(third).toMatch(/^│ {5}└─ socket \d+ {2}127\.0\.0\.1:50000 → \[::1\]:443 {2}1 stream$/);
  expect(stdout).toMatch(/├─ socket \d+ {2}listens on 127\.0\.0\.1:8080\n/);
});

describe("colour", () => {
  const csi = "\u001b[";

  test("colours the output of terminals, unless NO_COLOR or --no-color is set", async () => {
    expect((await wirescope(["channels"], { columns: 200 })).stdout).toContain(`${csi}32mREADY`);
    expect((await wirescope(["channels"])).stdout).not.toContain(csi);
    expect((await wirescope(["channels"], { columns: 200, env: { NO_COLOR: "1" } })).stdout).not.toContain(csi);
    expect((await wirescope(["channels", "--no-color"], { columns: 200 })).stdout).not.toContain(csi);
  });

  test("prints no colours of a hostile peer", async () => {
    const { stdout } = await wirescope(["channels"], { env: { FORCE_COLOR: "1" } });
    expect(stdout).toContain(csi);
    expect(stdout).not.toContain(`${csi}2J`);
    for (const verb of ["tree", "channels"]) {
      expect((await wirescope([verb])).stdout).not.toMatch(/[\p{Cf}]|(?!\n)\p{Cc}/u);
    }
    expect((await wirescope(["show", String(ids.failing), "--json"])).stdout).not.toMatch(/[\p{Cf}]|(?!\n)\p{Cc}/u);
  });
});

describe("connecting to the peer", () => {
  test("connects over a Unix socket", async () => {
    const address = await listen({ path: join(folder, "channelz.sock") });
    expect((await wirescope(["servers", "--target", address])).stdout).toContain("web");
  });

  test("sends a token from a file or from the environment", async () => {
    const token = "a-token-for-the-command-line";
    const address = await listen({ token });
    const file = join(folder, "token");
    writeFileSync(file, `${token}\n`);
    expect((await wirescope(["servers", "--target", address, "--token-file", file])).code).toBe(0);
    expect((await wirescope(["servers", "--target", address], { env: { WIRESCOPE_TOKEN: token } })).code).toBe(0);
    expect((await wirescope(["servers", "--target", address, "--header", `Authorization: Bearer ${token}`])).code).toBe(
      0,
    );
    const refused = await wirescope(["servers", "--target", address]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("--token-file");
  });

  test("reads a peer that serves either package", async () => {
    for (const name of ["rpc.channelz.v1", "grpc.channelz.v1"]) {
      expect((await wirescope(["servers", "--package", name])).code).toBe(0);
    }
  });

  test("exits with code 1 and one message without a stack if the peer is not reachable", async () => {
    const gone = "127.0.0.1:1";
    const { code, stdout, stderr } = await wirescope(["tree", "--target", gone]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^wirescope: [^\n]+ECONNREFUSED[^\n]+is the process running[^\n]+\n$/);
    const debugged = await wirescope(["tree", "--target", gone], { env: { WIRESCOPE_DEBUG: "1" } });
    expect(debugged.stderr).toContain("caused by: ");
  });
});

describe("the program", () => {
  test("prints, ends without a signal, and sets the exit code", async () => {
    const run = startCommand(["servers", "--target", target]);
    expect(await run.ended).toBe(0);
    expect(run.stdout).toContain("web");
    expect(await startCommand(["show", "999999", "--target", target]).ended).toBe(1);
  });

  test("ends silently if a reader of its output stops early", async () => {
    const run = startCommand(["sockets", "--json", "--target", target]);
    run.process.stdout.destroy();
    expect(await run.ended).toBe(141);
    expect(run.stderr).toBe("");
  });
});
