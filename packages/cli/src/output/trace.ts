import type { ChannelTrace } from "@wirescope/channelz";
import { ChannelTraceEvent_Severity as Severity } from "@wirescope/channelz/client";
import { printableText } from "@wirescope/channelz/internal";
import type { Paint } from "./colour.js";
import type { Screen } from "./screen.js";
import { formatRelative, formatTime, timeOf } from "./time.js";

/** The lines of a trace: when the object was created, and its events with the time, the severity and the child they are about. */
export function renderTrace(trace: ChannelTrace | undefined, screen: Screen): string[] {
  if (trace === undefined) return [];
  const { palette, now } = screen;
  const { events, numEventsLogged } = trace;
  const kept = numEventsLogged > BigInt(events.length) ? `, the last ${events.length} kept` : "";
  const marks: Readonly<Record<number, readonly [mark: string, paint: Paint]>> = {
    [Severity.CT_INFO]: ["info", palette.plain],
    [Severity.CT_WARNING]: ["warning", palette.warning],
    [Severity.CT_ERROR]: ["error", palette.bad],
  };
  const lines = events.map((event) => {
    const [mark, paint] = marks[event.severity] ?? ["unknown", palette.faint];
    const time = timeOf(event.timestamp);
    return [
      `    ${formatRelative(time, now).padEnd(10)}`,
      palette.faint((time?.toISOString() ?? "").padEnd(24)),
      paint(mark.padEnd(7)),
      printableText(event.description) + palette.faint(childOf(event.childRef)),
    ].join("  ");
  });
  return [
    `  ${palette.strong("trace")}  ${numEventsLogged} events${kept}; created ${formatTime(timeOf(trace.creationTimestamp), now)}`,
    ...lines,
  ];
}

function childOf(child: ChannelTrace["events"][number]["childRef"]): string {
  switch (child.case) {
    case "channelRef":
      return `  → channel ${child.value.channelId}`;
    case "subchannelRef":
      return `  → subchannel ${child.value.subchannelId}`;
    default:
      return "";
  }
}
