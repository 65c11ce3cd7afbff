import { type ChannelzListener, createRegistry, listenChannelz } from "@wirescope/channelz";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Run, type RunSetting, runCommand, startCommand } from "./command.test.helper.js";
import { untilPrinted } from "./running-process.test.helper.js";

const held: unknown[] = [];
const listeners: ChannelzListener[] = [];
let target = "";
let serverTarget = "";

beforeAll(async () => {
  const registry = createRegistry();
  for (let n = 0; n < 500; n += 1) {
    const channel = registry.addChannel({ target: `dns:///service-${n % 20}.example:443`, name: `client ${n}` });
    const subchannel = registry.addSubchannel({ parent: channel, target: `10.0.0.${n % 20}:443` });
    held.push(channel, subchannel);
    for (const each of [channel, subchannel]) each.setState("CONNECTING");
    for (let calls = 0; calls <= n % 7; calls += 1) {
      channel.callStarted();
      channel.callSucceeded();
    }
    if (n % 50 === 49) {
      subchannel.setState("TRANSIENT_FAILURE", `connect ECONNREFUSED 10.0.0.${n % 20}:443`);
      channel.setState("TRANSIENT_FAILURE");
      channel.callStarted();
      channel.callFailed();
    } else for (const each of [channel, subchannel]) each.setState("READY");
  }
  const serving = createRegistry();
  const server = serving.addServer({ name: "web" });
  held.push(server, serving.addListenSocket({ server, local: { ip: "127.0.0.1", port: 8080 } }));
  for (let n = 0; n < 6; n += 1) {
    const remote = { ip: `10.1.0.${n % 2}`, port: 7000 + n };
    const socket = serving.addSocket({ server, local: { ip: "127.0.0.1", port: 8080 }, remote });
    socket.remoteStreamStarted();
    if (n > 0) socket.streamSucceeded();
    if (n === 5) {
      socket.remoteStreamStarted();
      socket.streamFailed();
    }
    held.push(socket);
  }
  listeners.push(await listenChannelz(registry), await listenChannelz(serving));
  [target = "", serverTarget = ""] = listeners.map(({ address }) => address);
});

afterAll(async () => {
  for (const listener of listeners) await listener.close();
});

function wirescope(argv: readonly string[], setting: RunSetting = {}): Promise<Run> {
  return runCommand([...argv, "--target", argv[0] === "channels" ? target : serverTarget], setting);
}

async function lines(...argv: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await wirescope(argv);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout.trimEnd().split("\n");
}

async function json(...argv: string[]) {
  return JSON.parse((await lines(...argv, "--json")).join("\n"));
}

describe("channels", () => {
  test("[CZ-D-CLI-5] [CZ-D-CLI-6] shows 10 failing channels of 500 first, with the reason, and a summary by state", async () => {
    const printed = await lines("channels");
    expect(printed).toHaveLength(1 + 500 + 1);
    for (const line of printed.slice(1, 11)) {
      expect(line).toMatch(/TRANSIENT_FAILURE .*\d+ m?s +connect ECONNREFUSED 10\.0\.0\.\d+:443$/);
    }
    expect(printed[11]).toMatch(/ READY /);
    expect(printed.at(-1)).toBe("500 channels: 10 TRANSIENT_FAILURE, 490 READY");
  });

  test("[CZ-D-CLI-6] prints as many lines as fit on the terminal, in its width, and says how many more there are", async () => {
    const { stdout } = await wirescope(["channels", "--no-color"], { columns: 80, rows: 24 });
    const printed = stdout.trimEnd().split("\n");
    expect(printed.length).toBeLessThan(24);
    for (const line of printed) expect(line.length).toBeLessThanOrEqual(80);
    expect(printed[0]).toMatch(/^ *ID +STATE +TARGET .*REASON {2}…$/);
    for (const line of printed.slice(1, 11)) expect(line).toMatch(/TRANSIENT_FAILURE +dns:\/\/\/.* connect ECONN/);
    expect(printed.at(-1)).toBe("… 480 more channels; --limit 0 prints all.");
    expect((await wirescope(["channels", "--limit", "0"], { columns: 80, rows: 24 })).stdout.split("\n").length).toBe(
      503,
    );
  });

  test("selects by state, failure and text, and says how many of all", async () => {
    expect((await lines("channels", "--failing")).at(-1)).toBe("10 of 500 channels: 10 TRANSIENT_FAILURE");
    expect((await lines("channels", "--state", "READY", "--state", "IDLE")).at(-1)).toBe(
      "490 of 500 channels: 490 READY",
    );
    expect((await lines("channels", "--filter", "SERVICE-9.")).at(-1)).toMatch(/^25 of 500 channels: /);
    expect((await lines("channels", "--filter", "client 17")).at(-1)).toMatch(/^11 of 500 channels: /);
    expect(await lines("channels", "--filter", "nothing like this")).toEqual(["None of the 500 channels matches."]);
    expect((await wirescope(["channels", "--state", "ready"])).code).toBe(2);
  });

  test("sorts by id, name, calls and failures", async () => {
    const ids = (printed: string[]): number[] => printed.slice(1, -1).map((line) => Number(line.trim().split(" ")[0]));
    const byId = ids(await lines("channels", "--sort", "id"));
    expect(byId).toEqual(byId.toSorted((a, b) => a - b));
    expect((await lines("channels", "--sort", "failed"))[1]).toMatch(/ECONNREFUSED/);
    expect((await lines("channels", "--sort", "name"))[1]).toContain("client 0 ");
    expect((await lines("channels", "--sort", "calls"))[1]).toMatch(/ 8 +7 +1 /);
    expect((await wirescope(["channels", "--sort", "luck"])).code).toBe(2);
  });

  test("groups channels with the same target, with counts by state and the reason of a failure", async () => {
    const printed = await lines("channels", "--group");
    expect(printed[0]).toMatch(/^TARGET +COUNT +STATES +CALLS +FAILED +REASON$/);
    expect(printed).toHaveLength(1 + 20 + 1);
    expect(printed[1]).toMatch(
      /^dns:\/\/\/service-(9|19)\.example:443 +25 +5 TRANSIENT_FAILURE, 20 READY +\d+ +5 +connect ECONNREFUSED 10\.0\.0\.\d+:443$/,
    );
    expect((await json("channels", "--group"))[0]).toEqual({
      group: "dns:///service-0.example:443",
      count: 25,
      states: { READY: 25 },
      started: expect.any(String),
      failed: "0",
    });
  });

  test("orders JSON by id unless another order is requested, and adds the failure", async () => {
    const all = await json("channels");
    expect(all).toHaveLength(500);
    const ids = all.map(({ ref }: { ref: { channelId: string } }) => Number(ref.channelId));
    expect(ids).toEqual(ids.toSorted((a: number, b: number) => a - b));
    const [first, ...others] = await json("channels", "--sort", "problems", "--limit", "3");
    expect(others).toHaveLength(2);
    expect(first).toMatchObject({
      data: { state: { state: "TRANSIENT_FAILURE" } },
      failure: { reason: expect.stringMatching(/^connect ECONNREFUSED/), since: expect.stringMatching(/^\d{4}-/) },
    });
  });
});

describe("servers and sockets", () => {
  test("summarizes sockets by state, and selects and sorts them", async () => {
    expect((await lines("sockets")).at(-1)).toBe("7 sockets: 1 LISTEN, 1 ACTIVE, 5 IDLE");
    expect((await lines("sockets"))[1]).toMatch(/10\.1\.0\.1:7005 +2 +1 /);
    expect((await lines("sockets", "--failing")).at(-1)).toBe("1 of 7 sockets: 1 IDLE");
    expect(await lines("sockets", "--filter", "10.1.0.1:7003")).toHaveLength(3);
    expect((await lines("sockets", "--state", "ACTIVE"))[1]).toContain("10.1.0.0:7000");
    expect((await lines("sockets", "--sort", "remote"))[1]).toMatch(/127\.0\.0\.1:8080 +- /);
  });

  test("groups the sockets of one machine", async () => {
    const printed = await lines("sockets", "--group");
    expect(printed[0]).toMatch(/^PEER +COUNT +STATES +CALLS +FAILED$/);
    expect(printed).toContainEqual(expect.stringMatching(/^10\.1\.0\.1 +3 +3 IDLE +4 +1$/));
    expect(printed).toContainEqual(expect.stringMatching(/^listens on 127\.0\.0\.1:8080 +1 +1 LISTEN/));
  });

  test("lists servers by the address that they listen on", async () => {
    expect((await lines("servers", "--filter", ":8080")).at(-1)).toBe("1 server: 1 IDLE");
    expect(await json("servers", "--filter", ":9999")).toEqual([]);
  });
});

describe("--watch", () => {
  test("prints a line of JSON for each read until Ctrl-C, and continues when the process is gone", async () => {
    const own = createRegistry();
    const channel = own.addChannel({ target: "a:1", name: "first" });
    const listener = await listenChannelz(own);
    const run = startCommand(["channels", "--json", "--watch", "--interval", "50ms", "--target", listener.address]);
    await untilPrinted(run, /"first".*\n/);
    const second = own.addChannel({ target: "b:1", name: "second" });
    await untilPrinted(run, /"second".*\n/);
    await listener.close();
    await untilPrinted(run, /\{"error":".*cannot be reached.*\n/);
    run.process.kill("SIGINT");
    expect(await run.ended).toBe(0);
    expect(run.stderr).toBe("");
    held.push(channel, second);
  });

  test("exits with the error if the first read fails", async () => {
    expect(await runCommand(["channels", "--watch", "--target", "127.0.0.1:1"])).toMatchObject({
      code: 1,
      stdout: "",
    });
    expect((await wirescope(["channels", "--watch", "--interval", "soon"])).code).toBe(2);
  });
});
