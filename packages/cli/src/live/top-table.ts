import type { Snapshot } from "@wirescope/channelz/timeline";
import type { Palette } from "../output/screen.js";
import type { Column } from "../output/table.js";
import { labelOf, type TopRow } from "./top-rows.js";

/** The columns of `top`; the origin only if there are several. */
export function topColumns(palette: Palette, { origins }: Snapshot): Column<TopRow>[] {
  const isMany = origins.length > 1;
  return [
    {
      title: "STATE",
      minWidth: 17,
      text: ({ object }) => (object.unreadable === undefined ? (object.state ?? object.kind) : "unreadable"),
      paint: (row) => statePaint(row, palette),
    },
    ...(isMany ? [{ title: "PROCESS", minWidth: 10, text: ({ object }: TopRow) => object.origin }] : []),
    { title: "ID", align: "right", text: ({ object }) => String(object.id) },
    { title: "NAME", minWidth: 14, text: ({ object }) => labelOf(object) },
    { title: "CALLS/S", align: "right", text: ({ rates }) => formatRate(rates.started) },
    { title: "IN FLIGHT", align: "right", text: (row) => String(row.inFlight) },
    {
      title: "FAILED",
      align: "right",
      text: ({ failureRate }) => (failureRate === undefined ? "-" : `${(failureRate * 100).toFixed(1)} %`),
      paint: ({ failureRate }) => (failureRate ? palette.bad : palette.plain),
    },
    {
      title: "MESSAGES/S",
      align: "right",
      text: ({ object, rates }) =>
        object.kind === "socket" ? formatRate(rates.messagesSent + rates.messagesReceived) : "-",
    },
    { title: "TOTAL", align: "right", text: ({ object }) => String(object.counters.started) },
  ];
}

/** One line about all rows and targets. */
export function topHeadline(snapshot: Snapshot, rows: readonly TopRow[]): string {
  const rate = rows.reduce((sum, row) => sum + row.rates.started, 0);
  const failing = rows.filter(({ object }) => object.state === "TRANSIENT_FAILURE").length;
  const missing = snapshot.origins.filter(({ error }) => error !== undefined).length;
  return [
    `${rows.length} ${rows.length === 1 ? "object" : "objects"}`,
    `${formatRate(rate)} calls/s`,
    failing === 0 ? "none failing" : `${failing} failing`,
    ...(missing === 0 ? [] : [`${missing} of ${snapshot.origins.length} targets do not respond`]),
  ].join(" · ");
}

function statePaint({ object: { state, unreadable } }: TopRow, palette: Palette): Palette["plain"] {
  if (unreadable !== undefined || state === "TRANSIENT_FAILURE") return palette.bad;
  if (state === "READY") return palette.good;
  return state === "CONNECTING" ? palette.warning : palette.faint;
}

/** A count per second, with the digits that matter. */
export function formatRate(perSecond: number): string {
  if (perSecond === 0) return "0";
  return perSecond < 10 ? perSecond.toFixed(1) : String(Math.round(perSecond));
}
