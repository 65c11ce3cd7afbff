import { type Channel, walkTopChannels } from "@wirescope/channelz";
import { ChannelSchema } from "@wirescope/channelz/client";
import { formatJson } from "../output/json.js";
import { messageToJson } from "../output/message-json.js";
import type { Screen } from "../output/screen.js";
import { stateName, statePaint } from "../output/state.js";
import { type Column, renderTable } from "../output/table.js";
import { formatRelative, timeOf } from "../output/time.js";
import { parseLimit } from "../parse-id.js";
import { assertComplete, readUntilStopped } from "./partial.js";
import type { ListValues, ReadTask } from "./read-task.js";

/** Prints the top channels. */
export async function readChannels({ source, screen, values, signal }: ReadTask<ListValues>): Promise<void> {
  const walk = walkTopChannels(source, { signal, maxObjects: parseLimit(values.limit) });
  const { items: channels, stoppedBy } = await readUntilStopped(walk);
  if (values.json) screen.print(formatJson(channels.map((channel) => messageToJson(ChannelSchema, channel))));
  else if (channels.length === 0) screen.print("No channels.");
  else screen.printAll(renderTable(columns(screen), channels, screen.width));
  assertComplete(stoppedBy);
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
