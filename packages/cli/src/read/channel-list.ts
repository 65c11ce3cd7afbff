import { type Channel, type Source, walkTopChannels } from "@wirescope/channelz";
import { ChannelSchema, type Failure, isFailing, readFailure } from "@wirescope/channelz/client";
import { mapBounded } from "@wirescope/channelz/internal";
import { formatRelative, formatSpan, stateName, timeOf } from "@wirescope/channelz/internal/text";
import { messageToJson } from "../output/message-json.js";
import type { Screen } from "../output/screen.js";
import { statePaint } from "../output/state.js";
import type { Column } from "../output/table.js";
import { type ListSpec, type ListValues, printList } from "./list.js";
import { byNumber, byText, byTime } from "./list-orders.js";
import type { ReadTask } from "./read-task.js";

interface ChannelRow {
  readonly channel: Channel;
  /** Read for channels in TRANSIENT_FAILURE or CONNECTING. */
  readonly failure?: Failure | undefined;
}

/** Problems first. */
const ranks: Readonly<Record<string, number>> = { TRANSIENT_FAILURE: 0, CONNECTING: 1, UNKNOWN: 2, READY: 3, IDLE: 4 };

/** Reasons are read for at most this many channels; beyond that they repeat. */
const maxFailures = 1000;

const channelList: ListSpec<ChannelRow> = {
  noun: "channels",
  groupTitle: "TARGET",
  async *read(source, { signal, maxObjects }) {
    for await (const channel of walkTopChannels(source, { signal, maxObjects })) yield { channel };
  },
  complete: addFailures,
  idOf: ({ channel }) => channel.ref?.channelId ?? 0n,
  stateOf: ({ channel }) => stateName(channel.data),
  rankOf: ({ channel }) => ranks[stateName(channel.data)] ?? 5,
  isFailing: ({ channel, failure }) => isFailing(channel, failure),
  groupOf: ({ channel }) => channel.data?.target || "-",
  countersOf: ({ channel: { data } }) => ({ started: data?.callsStarted ?? 0n, failed: data?.callsFailed ?? 0n }),
  reasonOf: (row) => (isFailing(row.channel, row.failure) ? row.failure?.reason : undefined),
  textsOf: ({ channel, failure }) => [channel.ref?.name ?? "", channel.data?.target ?? "", failure?.reason ?? ""],
  orders: {
    name: byText(({ channel }) => channel.ref?.name ?? ""),
    target: byText(({ channel }) => channel.data?.target ?? ""),
    state: byText(({ channel }) => stateName(channel.data)),
    calls: byNumber(({ channel }) => channel.data?.callsStarted),
    failed: byNumber(({ channel }) => channel.data?.callsFailed),
    "last-call": byTime(({ channel }) => timeOf(channel.data?.lastCallStartedTimestamp)),
  },
  columns: channelColumns,
  toJson: ({ channel, failure }) => ({
    ...messageToJson(ChannelSchema, channel),
    ...(isFailing(channel, failure) && failure !== undefined ? { failure: failureToJson(failure) } : {}),
  }),
};

/** Prints the top-level channels. */
export async function readChannels(task: ReadTask<ListValues>): Promise<void> {
  await printList(task, channelList);
}

/** Reads why channels fail, from the traces of their subchannels. */
async function addFailures(
  source: Source,
  rows: readonly ChannelRow[],
  signal: AbortSignal,
): Promise<readonly ChannelRow[]> {
  const mayFail = rows
    .filter(({ channel }) => ["TRANSIENT_FAILURE", "CONNECTING"].includes(stateName(channel.data)))
    .toSorted((a, b) => channelList.rankOf(a) - channelList.rankOf(b))
    .slice(0, maxFailures);
  const failures = new Map<Channel, Failure | undefined>();
  const read = async ({ channel }: ChannelRow) => ({
    channel,
    failure: signal.aborted ? undefined : await readFailure(source, channel, { signal }).catch(() => undefined),
  });
  for await (const { channel, failure } of mapBounded(mayFail, 16, read)) failures.set(channel, failure);
  return rows.map(({ channel }) => ({ channel, failure: failures.get(channel) }));
}

function failureToJson({ reason, since }: Failure): { reason?: string; since?: string } {
  return {
    ...(reason === undefined ? {} : { reason }),
    ...(since === undefined ? {} : { since: since.toISOString() }),
  };
}

function channelColumns({ now, palette }: Screen, rows: readonly ChannelRow[]): Column<ChannelRow>[] {
  const hasFailures = rows.some((row) => channelList.isFailing(row));
  const failureColumns: Column<ChannelRow>[] = [
    {
      title: "FOR",
      importance: 4,
      minWidth: 6,
      text: (row) =>
        channelList.isFailing(row) && row.failure?.since !== undefined
          ? formatSpan(now.getTime() - row.failure.since.getTime())
          : "-",
    },
    {
      title: "REASON",
      importance: 7,
      minWidth: 20,
      tightWidth: 12,
      text: (row) => channelList.reasonOf?.(row) ?? "-",
      paint: () => palette.bad,
    },
  ];
  return [
    { title: "ID", align: "right", importance: 9, text: ({ channel }) => String(channel.ref?.channelId ?? 0n) },
    {
      title: "STATE",
      importance: 8,
      minWidth: 17,
      tightWidth: 12,
      text: ({ channel }) => stateName(channel.data),
      paint: ({ channel }) => statePaint(channel.data, palette),
    },
    { title: "TARGET", importance: 5, minWidth: 16, text: ({ channel }) => channel.data?.target || "-" },
    { title: "NAME", importance: 2, text: ({ channel }) => channel.ref?.name || "-" },
    { title: "CALLS", align: "right", importance: 3, text: ({ channel }) => String(channel.data?.callsStarted ?? 0n) },
    { title: "OK", align: "right", text: ({ channel }) => String(channel.data?.callsSucceeded ?? 0n) },
    {
      title: "FAILED",
      align: "right",
      importance: 6,
      text: ({ channel }) => String(channel.data?.callsFailed ?? 0n),
      paint: ({ channel }) => (channel.data?.callsFailed ? palette.bad : palette.plain),
    },
    {
      title: "LAST CALL",
      minWidth: 9,
      text: ({ channel }) => formatRelative(timeOf(channel.data?.lastCallStartedTimestamp), now),
    },
    ...(hasFailures ? failureColumns : []),
  ];
}
