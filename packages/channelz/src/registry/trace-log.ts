import type { ChannelRecord, Trace, TraceEvent, TraceSeverity } from "./records.js";

/** The numbers of the severities on the wire. */
export const severityNumbers: Readonly<Record<TraceSeverity, number>> = { unknown: 0, info: 1, warning: 2, error: 3 };

/** A longer description is cut: one event must not use up what all share. */
const maxDescriptionLength = 1024;
/** How many of the latest events are searched for an earlier occurrence. */
const maxLookBack = 64;
/** The approximate cost of an event in addition to its text. */
const eventOverheadBytes = 96;

export interface TraceBounds {
  readonly maxEventsPerObject: number;
  readonly maxBytes: number;
}

/**
 * Keeps the traces of all objects within their bounds: so many events an object, so many bytes together. Beyond, the
 * oldest event goes: of the object, or of all.
 *
 * Repetitions are counted rather than appended, or the attempts of an outage would push its cause out of the trace: an event
 * is kept as its first occurrence, with its time, and once more as its latest, with the number of times it was repeated.
 *
 * An event that refers to a child retains it: the child can be looked up although it closed, and so can what the child's own
 * events refer to. `onRelease` hears of each child when the last event about it is gone.
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

  /** How many events are kept, and about how many bytes they take. */
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
    // Only then: a system clock that is set back must not make new events the first that are dropped.
    if (isPast) insertByTime(trace.events, event);
    else trace.events.push(event);
    if (repetitions > 1) this.#drop(earlier!);
    if (trace.events.length > this.#bounds.maxEventsPerObject) this.#drop(trace.events[0]!);
    while (this.#bytes > this.#bounds.maxBytes && this.#oldest !== undefined) this.#drop(this.#oldest);
  }

  /** Lets all events of a trace go, with what they retain: its owner is being forgotten. */
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

/** Readers take the order of a trace for that of time. */
function insertByTime(events: TraceEvent[], event: TraceEvent): void {
  const before = events.findLastIndex(({ time }) => time <= event.time);
  events.splice(before + 1, 0, event);
}

/** The latest event that another with this key repeats. That of a living child is not repeated: it has a name of its own. */
function latestOccurrence({ events }: Trace, severity: TraceSeverity, key: string): TraceEvent | undefined {
  const oldest = Math.max(0, events.length - maxLookBack);
  for (let i = events.length - 1; i >= oldest; i -= 1) {
    const event = events[i]!;
    if (event.key === key && event.severity === severity && event.child?.lifecycle !== "live") return event;
  }
  return undefined;
}

/**
 * Whether events of `from`, or of what they retain, retain `sought`. An event that would close such a ring shows its
 * child but does not retain it, or the two would keep each other for ever.
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
  // Through a buffer, since a slice would keep the whole of the long string alive.
  return `${Buffer.from(description.slice(0, length - 1)).toString()}…`;
}
