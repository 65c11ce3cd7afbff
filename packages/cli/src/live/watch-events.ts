import { ChannelTraceEvent_Severity as Severity } from "@wirescope/channelz/client";
import { printableText, timeOf } from "@wirescope/channelz/internal/text";
import type { Delta, Origin, SnapshotObject, TimelineChange } from "@wirescope/channelz/timeline";
import type { Palette } from "../output/screen.js";

/** The kinds of events that can be selected. */
export const eventKinds = ["state", "object", "trace", "target"] as const;

/** One thing that changed between two reads of a process. */
export interface WatchEvent {
  readonly timeMs: number;
  readonly kind: (typeof eventKinds)[number];
  readonly change: TimelineChange["kind"];
  /** Undefined if the event is about a target. */
  readonly object: SnapshotObject | undefined;
  readonly origin: string;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly severity?: "info" | "warning" | "error" | undefined;
  /** Text from a peer, not escaped. */
  readonly text?: string | undefined;
}

/** A peer that replaces all its objects must not flood a terminal. */
const maxEvents = 1000;

/** The events in a delta, and how many were left out. `before` are the origins of the earlier snapshot. */
export function watchEvents(
  delta: Delta,
  before: readonly Origin[],
): { readonly events: readonly WatchEvent[]; readonly omitted: number } {
  const all = [
    ...originEvents(delta, before),
    ...delta.appeared.map((object) => event(delta, "object", "appeared", object, { to: object.state })),
    ...delta.disappeared.map((object) => event(delta, "object", "disappeared", object, { from: object.state })),
    ...delta.changed.flatMap(({ before: earlier, after, newEvents, isRestarted }) => [
      ...(isRestarted ? [event(delta, "object", "restarted", after, { text: "its counters went backwards" })] : []),
      ...(earlier.state === after.state
        ? []
        : [event(delta, "state", "state", after, { from: earlier.state, to: after.state })]),
      ...newEvents.map(({ timestamp, severity, description }) => ({
        ...event(delta, "trace", "trace", after, { text: description, severity: severityOf(severity) }),
        timeMs: timeOf(timestamp)?.getTime() ?? delta.toMs,
      })),
    ]),
  ];
  return { events: all.slice(0, maxEvents), omitted: Math.max(0, all.length - maxEvents) };
}

function originEvents({ origins, toMs }: Delta, before: readonly Origin[]): WatchEvent[] {
  return origins.flatMap(({ name, target, error }) => {
    const earlier = before.find((origin) => origin.name === name);
    if (earlier === undefined || earlier.error === error) return [];
    const text = error === undefined ? `${target || name} responds again` : error;
    return [{ timeMs: toMs, kind: "target", change: "origin", object: undefined, origin: name, text } as const];
  });
}

function event(
  { toMs }: Delta,
  kind: WatchEvent["kind"],
  change: WatchEvent["change"],
  object: SnapshotObject,
  more: Pick<WatchEvent, "from" | "to" | "text" | "severity">,
): WatchEvent {
  return { timeMs: toMs, kind, change, object, origin: object.origin, ...more };
}

function severityOf(severity: Severity): WatchEvent["severity"] {
  if (severity === Severity.CT_ERROR) return "error";
  return severity === Severity.CT_WARNING ? "warning" : "info";
}

/** An event as one line. Text from a peer is escaped. */
export function formatEvent(event: WatchEvent, palette: Palette): string {
  const { object, origin, change, from, to, severity, text } = event;
  const time = formatClock(new Date(event.timeMs));
  const who = object === undefined ? "target" : `${object.kind} ${object.id} ${object.name || object.target || ""}`;
  const where = [origin, who.trimEnd()].filter((part) => part !== "").join("  ");
  return `${palette.faint(time)}  ${printableText(where)}  ${what()}`;

  function what(): string {
    if (change === "state") return `${from ?? "?"} → ${paintState(to ?? "?", palette)}`;
    if (change === "appeared") return to === undefined ? "appeared" : `appeared, ${paintState(to, palette)}`;
    if (change === "disappeared") return "gone";
    const shown = printableText(text ?? "");
    if (severity === "error" || event.kind === "target") return palette.bad(shown);
    return severity === "warning" ? palette.warning(shown) : shown;
  }
}

/** The time of day, in the time zone of the terminal, to the millisecond. */
function formatClock(time: Date): string {
  return `${time.toTimeString().slice(0, 8)}.${String(time.getMilliseconds()).padStart(3, "0")}`;
}

function paintState(state: string, palette: Palette): string {
  if (state === "READY") return palette.good(state);
  if (state === "TRANSIENT_FAILURE") return palette.bad(state);
  return state === "CONNECTING" ? palette.warning(state) : state;
}

/** An event as a JSON value. */
export function eventToJson({ timeMs, object, ...rest }: WatchEvent): object {
  const shown = object && { kind: object.kind, id: String(object.id), name: object.name, target: object.target };
  return { time: new Date(timeMs).toISOString(), ...rest, object: shown };
}
