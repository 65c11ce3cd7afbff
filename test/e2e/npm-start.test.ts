import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { runCommand } from "./command.test.helper.js";
import { type GrpcJsResponse, readWithGrpcJs } from "./grpc-js-channelz.test.helper.js";
import { npmStart, root } from "./npm-start.test.helper.js";
import { untilPrinted } from "./running-process.test.helper.js";

const execute = promisify(execFile);

const topChannels = (address: string, token?: string): Promise<GrpcJsResponse> =>
  readWithGrpcJs(address, "getTopChannels", {}, token);

test("npm start -- --json prints one line when all is ready, serves grpc-js's client, and ends on SIGTERM", async () => {
  const run = npmStart(["--json", "--print-token", "--port", "0"]);
  const { channelz, endpoint, token, servers } = JSON.parse(await untilPrinted(run, /\n/));
  expect(channelz).toMatch(/^127\.0\.0\.1:\d+$/);
  expect(endpoint).toBe(`http://${channelz}/mcp`);
  // On a busy machine some connect later than the line is printed.
  expect(Object.keys(servers)).toEqual(["clock", "weather", "notes", "ledger"]);
  await expect(topChannels(channelz)).rejects.toThrow("UNAUTHENTICATED");

  await vi.waitFor(
    async () => {
      const { channel, end } = await topChannels(channelz, token);
      expect(end).toBe(true);
      const byName = Object.fromEntries(channel.map(({ ref, data }: GrpcJsResponse) => [ref.name, data]));
      expect(byName.clock?.state.state).toBe("READY");
      expect(Number(byName.clock?.calls_succeeded)).toBeGreaterThan(0);
      expect(byName.ledger?.state.state).toBe("TRANSIENT_FAILURE");
    },
    { timeout: 60_000, interval: 200 },
  );

  run.process.kill("SIGTERM");
  expect(await run.ended).toBe(0);
  expect(run.stdout.trimEnd().split("\n")).toHaveLength(1);
  await expect(topChannels(channelz, token)).rejects.toThrow("ECONNREFUSED");
});

/** The notice without the parts that differ each time. */
function withoutChance(text: string): string {
  return (
    text
      .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:port")
      .replaceAll(/(Token +).+/g, "$1token")
      // A terminal, as in the README, gets links.
      .replaceAll(/(Page +).+/g, "$1page")
      .replaceAll(/(sign-in required\n +).+/g, "$1link")
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:]+Z/g, "time")
      // On a busy machine some connect later.
      .replace(/Still connecting: .+\n\n/, "")
      .replaceAll(/connecting +-|connected +\d/g, "connect…")
      .replaceAll(/ +/g, " ")
      .replaceAll(/stdio:\S+ \S+clock-server\.mjs|headers helper \(\S+\)/g, "…")
  );
}

test("[TS-D-LOG-2] [TS-D-CLI-1] npm start prints what the README shows, its commands and links work, and SIGINT ends it", async () => {
  const home = await mkdtemp(join(tmpdir(), "wirescope-start-"));
  try {
    const env = { ...process.env, HOME: home, XDG_RUNTIME_DIR: "" };
    const run = npmStart(["--port", "0"], { env: { HOME: home, XDG_RUNTIME_DIR: "" } });
    const notice = await untilPrinted(run, /Press Ctrl-C to stop\.\n/);
    const readme = await readFile(join(root, "README.md"), "utf8");
    expect(withoutChance(readme)).toContain(withoutChance(`$ npm start\n${notice}`));

    expect(notice).not.toContain("ticket=");
    const [, file = ""] = /Token +\(in (\S+), or with --print-token\)/.exec(notice) ?? [];
    const { token, adminToken } = JSON.parse(await readFile(file, "utf8"));
    // Standard error is a pipe as well, and readable.
    await vi.waitFor(() => expect(run.stderr).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z clock: connected$/m), {
      timeout: 20_000,
    });
    expect(run.stderr).not.toContain('{"');
    const commands = notice.split("\n").filter((line) => /^ {2}npx /.test(line));
    expect(commands).toHaveLength(4);
    const [first = ""] = commands;
    expect((await execute("sh", ["-c", first], { cwd: root, env })).stdout).toContain("clock");
    // The others without npx, which takes most of the time.
    const own = (command: string) => runCommand(command.trim().split(" ").slice(2), { env });
    for (const command of commands.slice(1))
      expect((await own(command)).stdout, command).toMatch(command.includes("call") ? /^\d{4}-/ : /clock/);

    const { stdout } = await own("npx wirescope page notes");
    await signIn(stdout.trim(), notice, token);
    run.process.kill("SIGINT");
    expect(await run.ended).toBe(0);
    expect(run.stdout).toBe(notice);
    for (const secret of [token, adminToken]) expect(run.stdout + run.stderr).not.toContain(secret);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}, 240_000);

/** Follows a link as a browser does: the server behind OAuth connects, and the link has been used. */
async function signIn(link: string, notice: string, token: string): Promise<void> {
  const [, channelz = ""] = /Channelz +(\S+)/.exec(notice) ?? [];
  const follow = async (url: string, init: RequestInit = {}): Promise<string> =>
    (await fetch(url, { ...init, redirect: "manual" })).headers.get("location") ?? "";
  const entered = await fetch(link);
  const cookie = entered.headers.get("set-cookie")?.split(";")[0] ?? "";
  const [, path = ""] = /url=([^"]+)"/.exec(await entered.text()) ?? [];
  const consent = await follow(new URL(path, link).href, { headers: { cookie } });
  const callback = await follow(consent, { method: "POST", body: new URLSearchParams({ decision: "allow" }) });
  expect((await fetch(callback)).status).toBe(200);
  await vi.waitFor(
    async () => {
      const { channel } = await topChannels(channelz, token);
      expect(channel.find(({ ref }: GrpcJsResponse) => ref.name === "notes")?.data.state.state).toBe("READY");
    },
    { timeout: 60_000, interval: 200 },
  );
  expect((await fetch(link)).status).toBe(403);
}

test("ends npm start with code 2 and advice if the port is in use", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  const run = npmStart(["--port", String(port)]);
  expect(await run.ended).toBe(2);
  expect(run.stdout).toBe("");
  expect(run.stderr).toContain(String(port));
  expect(run.stderr).toContain("a free one with --port 0");
  other.close();
});
