import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { runCommand } from "./command.test.helper.js";
import { root } from "./npm-start.test.helper.js";
import { startProcess, untilPrinted } from "./running-process.test.helper.js";

const folder = mkdtempSync(join(tmpdir(), "wirescope-stitch-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const targets: string[] = [];

// A server of grpc-js that calls the next process, if there is one, for each call; and one call at the start if it serves nothing.
const program = `
  import * as grpc from "@grpc/grpc-js";
  const [next, isServer] = process.argv.slice(1);
  const bytes = (value) => value;
  const client = next === "" ? undefined : new grpc.Client(next, grpc.credentials.createInsecure());
  const call = (done) => client.makeUnaryRequest("/t.T/Say", bytes, bytes, Buffer.from("x"), done);
  if (isServer === "server") {
    const server = new grpc.Server();
    const Say = { path: "/t.T/Say", requestStream: false, responseStream: false, requestSerialize: bytes,
      requestDeserialize: bytes, responseSerialize: bytes, responseDeserialize: bytes };
    server.addService({ Say }, { Say: (_, done) => (client === undefined ? done(null, Buffer.from("y")) : call(done)) });
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (_, port) => console.log("port " + port));
  } else {
    call((error) => console.log(error === null ? "port 0" : error.message));
    setInterval(() => {}, 1000);
  }
`;

async function start(name: string, next: string, role: "server" | "client"): Promise<string> {
  const socket = join(folder, `${name}.sock`);
  const run = startProcess(
    process.execPath,
    ["--import", "@wirescope/instrument/auto", "--input-type=module", "--eval", program, "--", next, role],
    { cwd: root, env: { ...process.env, NODE_OPTIONS: "", WIRESCOPE_LISTEN: `unix:${socket}` } },
  );
  const [, port] = /port (\d+)/.exec(await untilPrinted(run, /port \d+/)) ?? [];
  targets.push("--target", `${name}=unix:${socket}`);
  return `127.0.0.1:${port}`;
}

/** Runs a command until all targets have responded: on a busy machine, a process may be given up. */
async function readAll(...args: string[]): Promise<Awaited<ReturnType<typeof runCommand>>> {
  let result = await runCommand(args);
  const read = async (): Promise<typeof result> => {
    if (result.code !== 0) result = await runCommand(args);
    return result;
  };
  await expect.poll(read).toMatchObject({ code: 0, stderr: "" });
  return result;
}

test("[CZ-D-CLI-8] follows a call through three processes, from the one that no other calls", async () => {
  const stock = await start("stock", "", "server");
  const orders = await start("orders", stock, "server");
  await start("front", orders, "client");
  const { stdout } = await readAll("tree", "--stitch", ...targets);
  const [first, ...others] = stdout.trimEnd().split("\n");
  expect(first).toBe("front");
  const way = others.filter((line) => /channel|▶/.test(line)).map((line) => line.trimStart());
  expect(way[0]).toMatch(/^└─ channel \d+ {2}READY {2}\S+ {2}1 calls$/);
  expect(way[1]).toMatch(/^└▶ orders {2}server \d+.* {2}127\.0\.0\.1:\d+ → 127\.0\.0\.1:\d+ {2}socket \d+ to \d+$/);
  expect(way[2]).toMatch(/channel \d+ {2}READY/);
  expect(way[3]).toMatch(/▶ stock {2}server \d+/);
  expect(others.at(-1)).toBe("2 connections between 3 targets");

  const json = await readAll("tree", "--stitch", "--json", ...targets);
  const connections = JSON.parse(json.stdout);
  expect(connections).toHaveLength(2);
  expect(connections).toContainEqual({
    client: expect.objectContaining({
      origin: "front",
      streams: expect.objectContaining({ started: 1, succeeded: 1 }),
    }),
    server: expect.objectContaining({
      origin: "orders",
      streams: expect.objectContaining({ started: 1, succeeded: 1 }),
    }),
    local: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
    remote: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
  });

  const single = await runCommand(["tree", "--stitch", ...targets.slice(0, 2)]);
  expect(single.code).toBe(2);
  expect(single.stderr).toContain("tree --stitch requires at least two targets.");
});
