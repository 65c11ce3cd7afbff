import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ChannelzListener, createRegistry, listenChannelz, mergeSources } from "@wirescope/channelz";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand } from "./command.test.helper.js";

const folder = mkdtempSync(join(tmpdir(), "wirescope-targets-"));
const held: unknown[] = [];
const listeners: ChannelzListener[] = [];
/** Nothing listens there. */
const dead = "127.0.0.1:1";
let targets: string[] = [];

beforeAll(async () => {
  for (const name of ["orders", "billing"]) {
    const registry = createRegistry();
    const channel = registry.addChannel({ target: "dns:///stock.example:443", name: `${name} to stock` });
    channel.setState("CONNECTING");
    if (name === "billing") channel.setState("TRANSIENT_FAILURE", "connect ETIMEDOUT");
    else channel.setState("READY");
    held.push(channel, registry.addServer({ name }));
    listeners.push(await listenChannelz(registry));
  }
  const [orders, billing] = listeners.map(({ address }) => address);
  targets = ["--target", `orders=${orders}`, "--target", `billing=${billing}`];
  writeFileSync(join(folder, "targets"), `orders=${orders}\nbilling=${billing}\ndead=${dead} # closed\n`);
});

afterAll(async () => {
  for (const listener of listeners) await listener.close();
  rmSync(folder, { recursive: true });
});

test("[CZ-D-CLI-3] lists the channels of all targets, problems first, with the origin", async () => {
  const { code, stdout, stderr } = await runCommand(["channels", ...targets]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const [heading, first, second, summary] = stdout.split("\n");
  expect(heading).toMatch(/^ORIGIN +ID +STATE /);
  expect(first).toMatch(/^billing +1 +TRANSIENT_FAILURE .* connect ETIMEDOUT$/);
  expect(second).toMatch(/^orders +1 +READY /);
  expect(summary).toBe("2 channels: 1 TRANSIENT_FAILURE, 1 READY");
});

test("[CZ-D-CLI-3] [CZ-D-CLI-4] shows a line for a target that does not respond, the objects of the others, and exits with 1", async () => {
  for (const verb of ["channels", "servers", "tree"]) {
    const { code, stdout, stderr } = await runCommand([verb, "--target", `@${join(folder, "targets")}`]);
    expect(code).toBe(1);
    expect(stdout).toContain("orders");
    expect(stdout).toContain("billing");
    expect(stdout).toMatch(new RegExp(`${dead.replaceAll(".", "\\.")} cannot be reached: .*ECONNREFUSED`));
    expect(stderr).toMatch(/^wirescope: 1 of 3 targets did not respond\. .*ECONNREFUSED/);
  }
  const { stdout } = await runCommand(["channels", "--json", "--target", `@${join(folder, "targets")}`]);
  expect(JSON.parse(stdout)).toMatchObject([
    { origin: "orders", ref: { name: "orders to stock" } },
    { origin: "billing", failure: { reason: "connect ETIMEDOUT" } },
    { origin: "dead", target: dead, error: expect.stringContaining("cannot be reached") },
  ]);
});

test("fails with one message if no target responds", async () => {
  const { code, stdout, stderr } = await runCommand(["servers", "--target", dead, "--target", `again=${dead}`]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^wirescope: .*cannot be reached: .*ECONNREFUSED/);
});

test("counts equal targets of all processes in one line with --group", async () => {
  const { stdout } = await runCommand(["channels", "--group", ...targets]);
  expect(stdout.split("\n")[1]).toMatch(
    /^dns:\/\/\/stock\.example:443 +2 +2 +1 TRANSIENT_FAILURE, 1 READY +0 +0 +connect ETIMEDOUT$/,
  );
});

test("[CZ-D-CLI-1] shows an object of one target by its name or its merged id, or the object with that id of every target", async () => {
  const named = await runCommand(["show", "1@billing", ...targets]);
  expect(named.stdout).toMatch(/^billing\nchannel 1 {2}billing to stock\n/);
  expect(named.stdout).not.toContain("orders");
  const everywhere = await runCommand(["show", "1", ...targets]);
  expect(everywhere.stdout).toMatch(/^orders\nchannel 1 (?:.|\n)*\nbilling\nchannel 1 /);
  const ids = mergeSources(
    ["orders", "billing"].map((origin) => ({ origin, target: "", source: createRegistry() })),
  ).ids;
  const merged = await runCommand(["show", String(ids.encode("orders", 1n)), ...targets]);
  expect(merged.stdout).toMatch(/^orders\nchannel 1 {2}orders to stock\n/);
  expect((await runCommand(["show", "1@nobody", ...targets])).stderr).toContain('No target has the name "nobody".');
  expect((await runCommand(["show", "77", ...targets])).stderr).toContain(
    "Each of the 2 targets has no open object 77",
  );
});

test("reads a DNS name by every address that it has", async () => {
  const port = listeners[0]?.address.split(":").at(-1);
  const { stdout } = await runCommand(["servers", "--json", "--target", `dns:localhost:${port}`]);
  expect(stdout).toContain("orders");
});
