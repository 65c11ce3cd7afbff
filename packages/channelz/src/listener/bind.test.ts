import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createRegistry } from "../registry/registry.js";
import { listenChannelz } from "./listen.js";
import { portOf } from "./raw-caller.test.helper.js";

/** The maximum number of connections that the system queues for a process. */
function maxBacklog(): number {
  try {
    return Number(readFileSync("/proc/sys/net/core/somaxconn", "utf8"));
  } catch {
    return 0;
  }
}

/** Opens this many connections, and prints how many succeeded: all of them, or those before a deadline. */
const crowd = `
const [port, count] = process.argv.slice(1).map(Number);
let connected = 0;
const report = () => { process.stdout.write(String(connected)); process.exit(); };
setTimeout(report, 60_000);
for (let i = 0; i < count; i += 1) {
  require("node:net").connect(port, "127.0.0.1", () => ++connected === count && report()).on("error", () => {});
}`;

test.skipIf(maxBacklog() < 1000)("keeps connections waiting that arrive while the process is busy", async () => {
  const listener = await listenChannelz(createRegistry(), { limits: { maxConnections: 2000 } });
  onTestFinished(() => listener.close({ deadlineMs: 0 }));
  const { port } = portOf(listener.address);
  // Nothing is accepted meanwhile: this process waits for the other.
  const { stdout } = spawnSync(process.execPath, ["-e", crowd, String(port), "900"], { encoding: "utf8" });
  expect(Number(stdout)).toBe(900);
});

const hasIpv6Loopback = networkInterfaces().lo?.some(({ address }) => address === "::1") ?? false;

test.skipIf(!hasIpv6Loopback).each(["[::1]", "[::1%lo]", "[::1%25lo]", "[::1%br_lan]"])(
  "listens on an IPv6 address with a zone, and accepts the Host %s",
  async (host) => {
    const listener = await listenChannelz(createRegistry(), { host: "::1%lo" });
    onTestFinished(() => listener.close({ deadlineMs: 0 }));
    const port = Number(listener.address.replace(/^.*:/, ""));
    const status = await new Promise((resolve, reject) => {
      const sent = request({ host: "::1", port, headers: { host: `${host}:${port}` } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sent.on("error", reject).end();
    });
    expect(status).toBe(404);
  },
);

test.skipIf(process.platform !== "linux")("says that the path of an abstract socket is in use", async () => {
  const path = `\0wirescope-${process.pid}-in-use`;
  const listener = await listenChannelz(createRegistry(), { path, token: "in-use-0123456789abcdef0123456789" });
  onTestFinished(() => listener.close({ deadlineMs: 0 }));
  const again = listenChannelz(createRegistry(), { path, token: "in-use-0123456789abcdef0123456789" });
  await expect(again).rejects.toMatchObject({
    code: "LISTEN_FAILED",
    message: expect.stringMatching(/The path is in use: .* choose another path\.$/),
  });
});

test("says that the folder of a Unix socket does not exist", async () => {
  const listening = listenChannelz(createRegistry(), {
    path: join(import.meta.dirname, "no-such-folder", "channelz.sock"),
  });
  await expect(listening).rejects.toMatchObject({
    code: "LISTEN_FAILED",
    message: expect.stringContaining("Its folder does not exist: create it"),
  });
});
