import { formatRelative, formatSpan, formatTime, printableText } from "@wirescope/channelz/internal/text";
import { type Counters, inFlight, readSnapshotOfAll } from "@wirescope/channelz/timeline";
import { parseCount } from "../option-values.js";
import { formatJson } from "../output/json.js";
import type { Screen } from "../output/screen.js";
import { type Column, type Field, renderFields, renderTable } from "../output/table.js";
import { wrapHard } from "../output/text-layout.js";
import { assertSnapshotComplete, parseMaxObjects, type ReadTask } from "./read-task.js";
import { type FailureGroup, readDetails, type Summary, summarize } from "./summary.js";

/** The values of `summary`. */
export interface SummaryValues {
  readonly json: boolean;
  readonly "max-objects": string | undefined;
  readonly "expires-within": string | undefined;
}

const dayMs = 86_400_000;
const maxLines = 8;

/** Prints one screen about a process, or about several together. */
export async function printSummary({ targets, screen, values, signal }: ReadTask<SummaryValues>): Promise<void> {
  const days = parseCount(values["expires-within"], "--expires-within", 0) ?? 30;
  const snapshot = await readSnapshotOfAll(targets, { signal, maxObjects: parseMaxObjects(values) });
  const sources = new Map(targets.map(({ origin, source }) => [origin, source]));
  const details = await readDetails(snapshot, sources, signal);
  const summary = summarize(snapshot, details, new Date(screen.now.getTime() + days * dayMs));
  const title =
    targets.length === 1
      ? (targets[0]?.target ?? "")
      : `${targets.length} targets, ${targets.length - summary.silent.length} respond`;
  if (values.json) screen.print(formatJson(summaryToJson(summary)));
  else screen.printAll(summaryLines(title, summary, screen));
  assertSnapshotComplete(snapshot);
}

function summaryLines(title: string, summary: Summary, screen: Screen): string[] {
  const { palette, now } = screen;
  const { counts, failures, certificates } = summary;
  const failing = failures.reduce((sum, { channels }) => sum + channels.length, 0);
  const fields: Field[] = [
    ["channels", `${counts.channel}${stateText(summary.channelStates)}`, failing > 0 ? palette.bad : palette.plain],
    ["subchannels", `${counts.subchannel}${stateText(summary.subchannelStates)}`],
    ["servers", String(counts.server)],
    ["sockets", String(counts.socket)],
    ["calls out", callText(summary.outgoing), summary.outgoing.failed > 0 ? palette.warning : palette.plain],
    ["calls in", callText(summary.incoming), summary.incoming.failed > 0 ? palette.warning : palette.plain],
    ["messages", `${summary.sockets.messagesSent} sent, ${summary.sockets.messagesReceived} received`],
    ["last call", formatRelative(summary.lastCall, now)],
    ...(summary.unreadable === 0 ? [] : [["unreadable", `${summary.unreadable} objects`, palette.bad] as const]),
  ];
  const oldest = failures.find(({ since }) => since !== undefined);
  return [
    palette.strong(printableText(title)),
    ...renderFields(fields, screen),
    ...section(
      `${failing} ${failing === 1 ? "channel fails" : "channels fail"}`,
      renderTable(failureColumns(now), failures.slice(0, maxLines), room(screen)),
      failures.length - maxLines,
      failures.length > 0,
      screen,
    ),
    ...(oldest?.since === undefined
      ? []
      : renderFields([["oldest problem", `${oldest.target || "-"}, ${formatTime(oldest.since, now)}`]], screen)),
    ...section(
      "certificates that expire soon",
      certificates.slice(0, maxLines).flatMap(({ subject, side, expiry, sockets: [first] }) => {
        const whose = side === "local" ? "own" : "of the peer";
        const text = `${subject} (${whose}, socket ${first?.id}): ${expiry < now ? "expired" : "expires"} ${formatTime(expiry, now)}`;
        return wrapHard(printableText(text, 500), room(screen));
      }),
      certificates.length - maxLines,
      certificates.length > 0,
      screen,
    ),
    ...section(
      "targets that do not respond",
      summary.silent
        .slice(0, maxLines)
        .flatMap(({ error = "" }) => wrapHard(printableText(error, 500), room(screen)).slice(0, 2)),
      summary.silent.length - maxLines,
      summary.silent.length > 0,
      screen,
    ),
  ];
}

const indent = "    ";

function room({ width }: Screen): number | undefined {
  return width === undefined ? undefined : Math.max(20, width - indent.length);
}

function section(
  title: string,
  lines: readonly string[],
  more: number,
  isShown: boolean,
  { palette }: Screen,
): string[] {
  if (!isShown) return [];
  return [
    `  ${palette.bad(title)}`,
    ...lines.map((line) => indent + line),
    ...(more > 0 ? [palette.faint(`${indent}… ${more} more`)] : []),
  ];
}

function failureColumns(now: Date): Column<FailureGroup>[] {
  return [
    {
      title: "FOR",
      importance: 5,
      minWidth: 6,
      text: ({ since }) => (since === undefined ? "-" : formatSpan(now.getTime() - since.getTime())),
    },
    { title: "CHANNELS", align: "right", importance: 4, text: ({ channels }) => String(channels.length) },
    { title: "TARGET", importance: 9, minWidth: 16, text: ({ target }) => target || "-" },
    { title: "REASON", importance: 8, minWidth: 20, text: ({ reason }) => reason ?? "-" },
  ];
}

function stateText(states: ReadonlyMap<string, number>): string {
  return states.size === 0 ? "" : `: ${[...states].map(([state, count]) => `${count} ${state}`).join(", ")}`;
}

function callText(counters: Counters): string {
  const { started, succeeded, failed } = counters;
  return `${started} started, ${succeeded} succeeded, ${failed} failed, ${inFlight(counters)} in progress`;
}

function summaryToJson(summary: Summary) {
  const { counts, outgoing, incoming, sockets, lastCall } = summary;
  return {
    counts: { ...counts },
    channelStates: Object.fromEntries(summary.channelStates),
    subchannelStates: Object.fromEntries(summary.subchannelStates),
    outgoing: { ...outgoing },
    incoming: { ...incoming },
    sockets: { ...sockets },
    ...(lastCall === undefined ? {} : { lastCall: lastCall.toISOString() }),
    failures: summary.failures.map(({ target, reason, since, channels }) => ({
      target,
      ...(reason === undefined ? {} : { reason }),
      ...(since === undefined ? {} : { since: since.toISOString() }),
      channels: channels.map(({ origin, id }) => ({ ...(origin === "" ? {} : { origin }), id: String(id) })),
    })),
    unreadable: summary.unreadable,
    certificates: summary.certificates.map(({ subject, side, expiry, sockets: all }) => ({
      subject,
      side,
      expiry: expiry.toISOString(),
      sockets: all.map(({ origin, id }) => ({ ...(origin === "" ? {} : { origin }), id: String(id) })),
    })),
    silent: summary.silent.map(({ name, target, error = "" }) => ({ origin: name, target, error })),
  };
}
