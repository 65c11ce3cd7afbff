import { createRegistry } from "@wirescope/channelz";
import { expect, test } from "vitest";
import { channelsCommand } from "../commands/read-commands.js";
import type { Io } from "../io.js";
import { parseOptions } from "../options.js";
import { createScreen } from "../output/screen.js";
import { readChannels } from "./channel-list.js";

test("[CZ-D-CLI-7] keeps the state, the failed calls and the reason of channels in 60 columns", async () => {
  const source = createRegistry();
  const channel = source.addChannel({ name: "orders", target: "dns:///orders.internal.example:50051" });
  channel.setState("CONNECTING");
  channel.setState("TRANSIENT_FAILURE", "connect ECONNREFUSED 10.0.0.7:50051");
  let stdout = "";
  const io = {
    stdout: { write: (text: string) => (stdout += text), isTTY: true, columns: 60 },
    env: {},
    now: () => new Date(),
  } as unknown as Io;
  const values = parseOptions(channelsCommand.options, []).values as unknown as Parameters<
    typeof readChannels
  >[0]["values"];
  const targets = [{ origin: "", target: "127.0.0.1:1", source }];
  const { signal } = new AbortController();
  await readChannels({ targets, screen: createScreen(io, true), values, positionals: [], signal });
  expect(stdout).toMatch(/^ID +STATE +FAILED +REASON +…\n *\d+ +TRANSIENT_FAILURE +0 +connect ECONNREFUSED/);
});
