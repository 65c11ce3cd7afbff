import { type ChildProcessWithoutNullStreams, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Client, credentials, loadPackageDefinition, type ServiceError } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { afterEach, expect, test, vi } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const protoRoot = join(dirname(createRequire(import.meta.url).resolve("@grpc/grpc-js/package.json")), "proto");

interface Started {
  readonly process: ChildProcessWithoutNullStreams;
  readonly ended: Promise<number | null>;
  stdout: string;
  stderr: string;
}

const started: Started[] = [];

afterEach(async () => {
  for (const { process, ended } of started.splice(0)) {
    process.kill();
    await ended;
  }
});

function npmStart(...args: string[]): Started {
  const child = spawn("npm", ["start", "--", ...args], { cwd: root });
  const ended = once(child, "close").then(([code]) => code as number | null);
  const run: Started = { process: child, ended, stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => (run.stdout += chunk));
  child.stderr.on("data", (chunk) => (run.stderr += chunk));
  started.push(run);
  return run;
}

/** Waits for standard output to match; what ends before that fails with all it said. */
async function untilPrinted(run: Started, pattern: RegExp): Promise<string> {
  let exit: { code: number | null } | undefined;
  void run.ended.then((code) => {
    exit = { code };
  });
  while (!pattern.test(run.stdout)) {
    if (exit !== undefined) throw new Error(`npm start ended with code ${exit.code}.\n${run.stdout}${run.stderr}`);
    await Promise.race([once(run.process.stdout, "data"), run.ended]);
  }
  return run.stdout;
}

interface Page {
  channel: {
    ref: { name: string };
    data: { state: { state: string }; calls_succeeded: string; calls_failed: string };
  }[];
  end: boolean;
}

function getTopChannels(address: string): Promise<Page> {
  const loaded = loadSync("channelz.proto", {
    includeDirs: [protoRoot],
    keepCase: true,
    enums: String,
    longs: String,
    defaults: true,
  });
  // biome-ignore lint/suspicious/noExplicitAny: grpc-js makes the class at run time.
  const Channelz = (loadPackageDefinition(loaded) as any).grpc.channelz.v1.Channelz;
  const client: Client &
    Record<string, (request: object, done: (error: ServiceError | null, page: Page) => void) => void> = new Channelz(
    address,
    credentials.createInsecure(),
  );
  return new Promise<Page>((resolve, reject) => {
    client.getTopChannels?.({}, (error, page) => (error === null ? resolve(page) : reject(error)));
  }).finally(() => client.close());
}

test("npm start -- --json prints one line when all is ready, serves grpc-js's client, and ends on SIGTERM", async () => {
  const run = npmStart("--json", "--port", "0");
  const { channelz } = JSON.parse(await untilPrinted(run, /\n/));
  expect(channelz).toMatch(/^127\.0\.0\.1:\d+$/);

  await vi.waitFor(
    async () => {
      const { channel, end } = await getTopChannels(channelz);
      expect(end).toBe(true);
      const byName = Object.fromEntries(channel.map(({ ref, data }) => [ref.name, data]));
      expect(byName.greeter?.state.state).toBe("READY");
      expect(Number(byName.greeter?.calls_succeeded)).toBeGreaterThan(0);
      expect(Number(byName.greeter?.calls_failed)).toBeGreaterThan(0);
      expect(byName.nobody?.state.state).toBe("TRANSIENT_FAILURE");
    },
    { timeout: 20_000, interval: 200 },
  );

  run.process.kill("SIGTERM");
  expect(await run.ended).toBe(0);
  expect(run.stdout.trimEnd().split("\n")).toHaveLength(1);
  await expect(getTopChannels(channelz)).rejects.toThrow("ECONNREFUSED");
});

test("npm start tells a person what is where, in 80 columns and as the README shows it, and ends on SIGINT", async () => {
  const run = npmStart("--port", "0");
  await untilPrinted(run, /GetServers\n/);
  run.process.kill("SIGINT");
  expect(await run.ended).toBe(0);
  expect(run.stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
  const readme = await readFile(join(root, "README.md"), "utf8");
  const withoutPorts = (text: string): string => text.replaceAll(/127\.0\.0\.1:\d+ */g, "127.0.0.1:port ");
  expect(withoutPorts(readme)).toContain(`$ npm start\n${withoutPorts(run.stdout)}`);
});

test("every command that npm start prints works when it is pasted", async () => {
  const run = npmStart("--port", "0");
  const notice = (await untilPrinted(run, /GetServers\n/)).replaceAll("\\\n", "");
  const commands = notice.split("\n").filter((line) => /^ {2}(npx|curl) /.test(line));
  expect(commands).toHaveLength(5);
  for (const command of commands) {
    const { stdout } = await promisify(execFile)("sh", ["-c", command], { cwd: root, timeout: 30_000 });
    expect(stdout, command).toContain("greeter");
  }
});

test("a port that is taken ends npm start with code 1 and says what to do", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  const run = npmStart("--port", String(port));
  expect(await run.ended).toBe(1);
  expect(run.stdout).toBe("");
  expect(run.stderr).toContain(String(port));
  expect(run.stderr).toContain("npm start -- --port");
  other.close();
});

test("a wrong option ends npm start with code 2 and names it", async () => {
  const wrong = npmStart("--prot", "1");
  expect(await wrong.ended).toBe(2);
  expect(wrong.stderr).toContain("--prot");
  const outOfRange = npmStart("--port", "65536");
  expect(await outOfRange.ended).toBe(2);
  expect(outOfRange.stderr).toContain("65536");
});
