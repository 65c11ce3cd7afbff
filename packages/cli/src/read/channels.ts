import { type Channel, ChannelSchema, walkTopChannels } from "@wirescope/channelz";
import { collect } from "../collect.js";
import { formatJson } from "../output/json.js";
import { messageToJson } from "../output/message-json.js";
import type { Screen } from "../output/screen.js";
import { stateName, statePaint } from "../output/state.js";
import { type Column, renderTable } from "../output/table.js";
import { formatRelative, timeOf } from "../output/time.js";
import type { ReadTask } from "./read-task.js";

/** Prints the top channels. */
export async function readChannels({ source, screen, values }: ReadTask): Promise<void> {
  const channels = await collect(walkTopChannels(source));
  if (values.json) return screen.print(formatJson(channels.map((channel) => messageToJson(ChannelSchema, channel))));
  if (channels.length === 0) return screen.print("No channels.");
  screen.printAll(renderTable(columns(screen), channels, screen.width));
}

function columns({ now, palette }: Screen): Column<Channel>[] {
  return [
    { title: "ID", align: "right", text: ({ ref }) => String(ref?.channelId ?? 0n) },
    { title: "STATE", least: 17, text: ({ data }) => stateName(data), paint: ({ data }) => statePaint(data, palette) },
    { title: "TARGET", least: 16, text: ({ data }) => data?.target || "-" },
    { title: "NAME", text: ({ ref }) => ref?.name || "-" },
    { title: "CALLS", align: "right", text: ({ data }) => String(data?.callsStarted ?? 0n) },
    { title: "OK", align: "right", text: ({ data }) => String(data?.callsSucceeded ?? 0n) },
    {
      title: "FAILED",
      align: "right",
      text: ({ data }) => String(data?.callsFailed ?? 0n),
      paint: ({ data }) => (data?.callsFailed ? palette.bad : palette.plain),
    },
    { title: "LAST CALL", least: 9, text: ({ data }) => formatRelative(timeOf(data?.lastCallStartedTimestamp), now) },
  ];
}
