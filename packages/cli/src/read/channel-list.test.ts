import { createRegistry } from "@wirescope/channelz";
import { expect, test } from "vitest";
import { channelsCommand } from "../commands/read-commands.js";
import type { Io } from "../io.js";
import { parseOptions } from "../options.js";
import { createScreen } from "../output/screen.js";
import { readChannels } from "./channel-list.js";

/** What `wirescope channels` prints about a failing channel of each target, in a terminal. */
async function listed(columns: number, origins: readonly string[]): Promise<string> {
  const targets = origins.map((origin) => {
    const source = createRegistry();
    const channel = source.addChannel({ name: "orders", target: "dns:///orders.internal.example:50051" });
    channel.setState("CONNECTING");
    channel.setState("TRANSIENT_FAILURE", "connect ECONNREFUSED 10.0.0.7:50051");
    for (let calls = 0; calls < 12_345; calls += 1) channel.callFailed();
    return { origin, target: "127.0.0.1:1", source };
  });
  let stdout = "";
  const io = {
    stdout: { write: (text: string) => (stdout += text), isTTY: true, columns },
    env: {},
    now: () => new Date(),
  } as unknown as Io;
  const values = parseOptions(channelsCommand.options, []).values as unknown as Parameters<
    typeof readChannels
  >[0]["values"];
  const { signal } = new AbortController();
  await readChannels({ targets, screen: createScreen(io, true), values, positionals: [], signal });
  return stdout;
}

test("[CZ-D-CLI-7] keeps the state, the failed calls and the reason of channels in 60 columns", async () => {
  expect(await listed(60, [""])).toMatch(
    /^ID +STATE +FAILED +REASON +…\n *\d+ +TRANSIENT_FAILURE +12345 +connect ECONNREFUSED/,
  );
});

test.each([60, 80])(
  "[CZ-D-CLI-7] keeps the state, the failed calls and the reason of channels of several targets in %i columns",
  async (columns) => {
    const stdout = await listed(columns, ["10.0.0.101:50051", "10.0.0.102:50051"]);
    expect(stdout).toMatch(/^ORIGIN +ID +STATE .*FAILED .*REASON/);
    expect(stdout).toMatch(/^10\.0\.0\.10\S* +1 +TRANSIENT_F\S+ .*12345 .*connect /m);
    for (const line of stdout.split("\n").slice(0, 3)) expect(line.length).toBeLessThanOrEqual(columns);
  },
);
