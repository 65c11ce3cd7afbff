import type { ChannelRecord, Trace, TraceEvent, TraceSeverity } from "./records.js";

/** The numbers of the severities on the wire. */
export const severityNumbers: Readonly<Record<TraceSeverity, number>> = { unknown: 0, info: 1, warning: 2, error: 3 };

/** A longer description is truncated, because all events share `maxBytes`. */
const maxDescriptionLength = 1024;
/** The number of latest events that are searched for an earlier occurrence. */
const maxLookBack = 64;
/** The approximate cost of an event in addition to its text. */
const eventOverheadBytes = 96;

export interface TraceBounds {
  readonly maxEventsPerObject: number;
  readonly maxBytes: number;
}

/**
 * Keeps the traces of all objects within their limits: events per object, and bytes of all together. Above a limit, the oldest event
 * is removed: of the object, or of all.
 *
 * Repetitions are counted rather than appended, or the attempts during an outage would push its cause out of the trace: the first
 * occurrence of an event is kept with its time, and the latest with the number of repetitions.
 *
 * An event that refers to a child retains it: the child can still be looked up after it closed, and so can the children in its own
 * events. `onRelease` is called for each child when the last event about it is removed.
 */
export class TraceLog {
  readonly #bounds: TraceBounds;
  readonly #onRelease: (child: ChannelRecord) => void;
  #oldest: TraceEvent | undefined;
  #newest: TraceEvent | undefined;
  #bytes = 0;
  #events = 0;

  constructor(bounds: TraceBounds, onRelease: (child: ChannelRecord) => void) {
    this.#bounds = bounds;
    this.#onRelease = onRelease;
  }

  /** The number of events, and their approximate size in bytes. */
  get size(): { readonly events: number; readonly bytes: number } {
    return { events: this.#events, bytes: this.#bytes };
  }

  add(
    owner: ChannelRecord | undefined,
    trace: Trace,
    time: number,
    severity: TraceSeverity,
    description: string,
    child?: ChannelRecord,
    same: string = description,
    isPast = false,
  ): void {
    trace.logged += 1;
    if (this.#bounds.maxEventsPerObject === 0) return;
    const key = same.length > maxDescriptionLength ? cut(same, maxDescriptionLength) : same;
    const earlier = latestOccurrence(trace, severity, key);
    const repetitions = earlier === undefined ? 0 : earlier.repetitions + 1;
    const times = repetitions > 1 ? ` (repeated ${repetitions} times)` : "";
    const room = maxDescriptionLength - times.length;
    const retainsChild = child !== undefined && !(owner !== undefined && retains(child, owner));
    const event: TraceEvent = {
      trace,
      description: (description.length > room ? cut(description, room) : description) + times,
      severity,
      time,
      child,
      key,
      repetitions,
      retainsChild,
      older: this.#newest,
      newer: undefined,
    };
    if (retainsChild) child.retainedBy += 1;
    if (this.#newest === undefined) this.#oldest = event;
    else this.#newest.newer = event;
    this.#newest = event;
    this.#events += 1;
    this.#bytes += bytesOf(event);
    // Only for past events: if the system clock is set back, new events must not be the first to be dropped.
    if (isPast) insertByTime(trace.events, event);
    else trace.events.push(event);
    if (repetitions > 1) this.#drop(earlier!);
    if (trace.events.length > this.#bounds.maxEventsPerObject) this.#drop(trace.events[0]!);
    while (this.#bytes > this.#bounds.maxBytes && this.#oldest !== undefined) this.#drop(this.#oldest);
  }

  /** Removes all events of a trace, because its owner is removed, and releases the children that they retain. */
  clear(trace: Trace): void {
    while (trace.events.length > 0) this.#drop(trace.events.at(-1)!);
  }

  #drop(event: TraceEvent): void {
    const { events } = event.trace;
    if (events[0] === event) events.shift();
    else events.splice(events.lastIndexOf(event), 1);
    if (event.older === undefined) this.#oldest = event.newer;
    else event.older.newer = event.newer;
    if (event.newer === undefined) this.#newest = event.older;
    else event.newer.older = event.older;
    this.#events -= 1;
    this.#bytes -= bytesOf(event);
    if (event.retainsChild) {
      const child = event.child!;
      child.retainedBy -= 1;
      if (child.retainedBy === 0) this.#onRelease(child);
    }
  }
}

/** Inserts in the order of time, which readers of a trace expect. */
function insertByTime(events: TraceEvent[], event: TraceEvent): void {
  const before = events.findLastIndex(({ time }) => time <= event.time);
  events.splice(before + 1, 0, event);
}

/** The latest event with this key, which a new one repeats. An event of a live child is never repeated, because its child has its own name. */
function latestOccurrence({ events }: Trace, severity: TraceSeverity, key: string): TraceEvent | undefined {
  const oldest = Math.max(0, events.length - maxLookBack);
  for (let i = events.length - 1; i >= oldest; i -= 1) {
    const event = events[i]!;
    if (event.key === key && event.severity === severity && event.child?.lifecycle !== "live") return event;
  }
  return undefined;
}

/**
 * Whether events of `from`, or of children that they retain, retain `sought`. An event that would close such a cycle refers to its
 * child but does not retain it, or the two would retain each other forever.
 */
function retains(from: ChannelRecord, sought: ChannelRecord): boolean {
  if (from === sought) return true;
  const seen = new Set([from]);
  for (const record of seen) {
    for (const event of record.trace.events) {
      if (!event.retainsChild) continue;
      if (event.child === sought) return true;
      seen.add(event.child!);
    }
  }
  return false;
}

function bytesOf(event: TraceEvent): number {
  const { description, key } = event;
  return eventOverheadBytes + description.length + (key === description ? 0 : key.length);
}

function cut(description: string, length: number): string {
  // Through a buffer, because a slice would keep the whole string alive.
  return `${Buffer.from(description.slice(0, length - 1)).toString()}…`;
}
