import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connectChannelz } from "@wirescope/channelz";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { runCommand } from "../e2e/command.test.helper.js";
import { freePort } from "../free-port.test.helper.js";
import { switchOnPrograms } from "../switch-on.test.helper.js";
import { buildPeer, buildProgram, type PeerName, peerNames } from "./build-peer.test.helper.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const ca = join(root, "test", "certificates", "ca.pem");

/** What `wirescope conform` finds, as docs/channelz-peers.md lists it. */
const deviations: Readonly<Record<PeerName, { readonly title: string; readonly rules: readonly string[] }>> = {
  go: {
    title: "grpc-go",
    rules: ["CZ-D-ARG-5", "CZ-DATA-5", "CZ-SOCKET-13", "CZ-SOCKET-14", "CZ-SOCKET-15", "CZ-D-TIME-1"],
  },
  cpp: {
    title: "C++",
    rules: ["CZ-LIMIT-1", "CZ-ERR-1", "CZ-D-ARG-4", "CZ-D-ARG-5", "CZ-SOCKET-1", "CZ-SEC-1"],
  },
  python: { title: "Python", rules: ["CZ-LIMIT-1", "CZ-SOCKET-1", "CZ-SEC-1"] },
};

/** The addresses that a peer prints. */
interface Addresses {
  readonly tcp: string;
  readonly tls: string;
  readonly unix: string;
  readonly failing: string;
}

const transports = ["tcp", "tls", "unix"] as const;

describe.each(peerNames)("a process in %s", (name) => {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-peers-"));
  let child: ChildProcess | undefined;
  let addresses: Addresses;

  beforeAll(async () => {
    const [program, ...args] = buildPeer(name, folder);
    child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    const ended = once(child, "exit").then(() => {
      throw new Error(`The peer ended before it was ready: ${program} ${args.join(" ")}`);
    });
    const [line] = await Promise.race([once(child.stdout ?? child, "data"), ended]);
    // It ends with its test.
    ended.catch(() => {});
    addresses = JSON.parse(String(line));
  });

  afterAll(async () => {
    // Its standard input ends, and so does it.
    child?.stdin?.end();
    if (child?.exitCode === null) await once(child, "exit");
    rmSync(folder, { recursive: true });
  });

  const targetOf = (transport: (typeof transports)[number]): string[] => [
    "--target",
    addresses[transport],
    ...(transport === "tls" ? ["--ca", ca, "--server-name", "localhost"] : []),
  ];
  const json = async (...argv: string[]) => {
    const { stdout, stderr } = await runCommand([...argv, "--json"]);
    return { value: JSON.parse(stdout), stderr };
  };

  test.each(transports)("shows its channels with the calls that it made, over %s", async (transport) => {
    const { value } = await json("channels", ...targetOf(transport));
    const channels: { data: { target: string; state: { state: string } } & Record<string, string> }[] = value;
    expect(channels).toHaveLength(4);
    for (const each of transports) {
      const found = channels.find(({ data }) => data.target.endsWith(addresses[each]));
      expect(found?.data).toMatchObject({ callsStarted: "5", callsSucceeded: "3", callsFailed: "2" });
      expect(found?.data.state.state).toBe("READY");
    }
    const failing = channels.find(({ data }) => data.target.endsWith(addresses.failing));
    expect(failing?.data).toMatchObject({ callsStarted: "1", callsSucceeded: "0" });
    // The library tries again from time to time.
    expect(["TRANSIENT_FAILURE", "CONNECTING"]).toContain(failing?.data.state.state);
  });

  test("shows channels down to their sockets, and three servers with theirs, as a tree", async () => {
    const { code, stdout } = await runCommand(["tree", ...targetOf("tcp")]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /channel \d+ {2}READY .*5 calls, 2 failed\n.*subchannel \d+ {2}READY .*5 calls, 2 failed\n.*socket \d+/,
    );
    expect(stdout).toMatch(/channel \d+ {2}(TRANSIENT_FAILURE|CONNECTING) {2}.*127\.0\.0\.1:1/);
    expect(stdout.match(/─ server \d+/g)).toHaveLength(3);
    expect(stdout).toContain(`listens on ${addresses.unix}`);
  });

  test("shows the streams and messages of a connection, and the security of one with TLS", async () => {
    const { value: sockets } = await json("sockets", ...targetOf("tcp"));
    const clients = sockets.filter(({ owner }: { owner: { role: string } }) => owner.role === "client");
    expect(clients).toHaveLength(3);
    for (const { ref } of clients) {
      const { stdout } = await runCommand(["show", ref.socketId, "--kind", "socket", ...targetOf("tcp")]);
      expect(stdout).toMatch(/^ {2}streams +5 started, 4 succeeded, 1 failed$/m);
      expect(stdout).toMatch(/^ {2}messages +5 sent, 4 received$/m);
      expect(stdout).toMatch(/^ {2}last local stream .* ago|just now/m);
      expect(stdout).toMatch(/^ {2}last remote stream +never$/m);
    }
    const secure = clients.filter(({ security }: { security?: { tls?: object } }) => security?.tls !== undefined);
    expect(secure).toHaveLength(1);
    const { stdout } = await runCommand(["show", secure[0].ref.socketId, "--kind", "socket", ...targetOf("tcp")]);
    expect(stdout).toContain("CN=Wirescope test server");
  });

  test.each(transports)("reports exactly the deviations that we publish, over %s", async (transport) => {
    const { value } = await json("conform", ...targetOf(transport));
    const [report] = value;
    expect(report.stoppedBy).toBeUndefined();
    const failed = report.rules.filter(({ outcome }: { outcome: string }) => outcome === "failed");
    expect(failed.map(({ id }: { id: string }) => id)).toEqual(deviations[name].rules);
  });

  test("corrects what its responses prove to be a deviation, and nothing else", async () => {
    const { value: sockets, stderr } = await json("sockets", ...targetOf("tcp"));
    const made = new Set<string>(
      sockets.flatMap(({ corrections = [] }: { corrections?: { id: string }[] }) => corrections.map(({ id }) => id)),
    );
    const lookup = await runCommand(["show", "999999", "--kind", "server", ...targetOf("tcp")]);
    expect(lookup.code).toBe(1);
    expect(lookup.stderr).toContain("has no server 999999");
    expect([...made].sort()).toEqual(name === "go" ? ["swapped-windows", "unset-times"] : []);
    expect(stderr.includes("Corrected for this peer")).toBe(name === "go");
    expect(lookup.stderr.includes("not-found (1)")).toBe(name === "cpp");
    const raw = await runCommand(["show", "999999", "--kind", "server", "--no-corrections", ...targetOf("tcp")]);
    expect(raw.stderr.includes("Internal")).toBe(name === "cpp");
  });

  test("publishes the deviations that were found in docs/channelz-peers.md", () => {
    const page = readFileSync(join(root, "docs", "channelz-peers.md"), "utf8");
    const [header = [], , ...rows] = page
      .split("\n")
      .filter((line) => line.startsWith("|"))
      .map((line) => line.split("|").map((cell) => cell.trim()));
    const column = header.indexOf(deviations[name].title);
    expect(column).toBeGreaterThan(1);
    const published = rows
      .filter((row) => row[column]?.startsWith("**no**"))
      .flatMap(([, rule = ""]) => rule.match(/CZ-[A-Z]+-\d+/g) ?? []);
    const { rules } = deviations[name];
    expect(published.sort()).toEqual(rules.filter((id) => !id.startsWith("CZ-D-")).sort());
  });
});

test.each(["go", "cpp"] as const)("the program in docs/switch-on.md for %s serves Channelz", async (language) => {
  const port = await freePort();
  const [code = ""] = switchOnPrograms(language, port);
  const child = spawn(buildProgram(language, code), { stdio: "inherit" });
  const source = connectChannelz(`127.0.0.1:${port}`);
  onTestFinished(async () => {
    await source.close();
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  const servers = async (): Promise<unknown> =>
    source.getServers().then(
      ({ server }) => server.length,
      ({ code }) => code,
    );
  await expect.poll(servers, { timeout: 30_000 }).toBe(1);
});
