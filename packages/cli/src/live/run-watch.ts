import { printableText } from "@wirescope/channelz/internal/text";
import { diffSnapshots, type Snapshot, type SnapshotObject, type TimelineRange } from "@wirescope/channelz/timeline";
import { exitCode } from "../failure.js";
import { parseDuration } from "../option-values.js";
import { formatJsonLine, jsonOf } from "../output/json.js";
import { silentTarget } from "../output/silent-target.js";
import { eachSnapshot, type LiveTask, type RecordedHistory } from "./live-task.js";
import { eventToJson, formatEvent, type WatchEvent, watchEvents } from "./watch-events.js";

interface WatchValues {
  readonly json: boolean;
  readonly filter: string | undefined;
  readonly event: readonly string[];
  readonly until: string | undefined;
  readonly for: string | undefined;
}

/** Prints a line for each change until the user interrupts it, `--until` is met or `--for` has passed. Returns the exit code. */
export async function runWatch(task: LiveTask<WatchValues>): Promise<number> {
  const { sampler, screen, io, values, signal, stop } = task;
  const { until, filter } = values;
  const { recorded } = sampler;
  const durationMs = values.for === undefined ? undefined : parseDuration(values.for, "--for");
  // A recording ends by itself.
  let isTimeUp = recorded !== undefined;
  const timer =
    durationMs === undefined || recorded !== undefined
      ? undefined
      : setTimeout(() => {
          isTimeUp = true;
          stop();
        }, durationMs);
  const isSelected = (event: WatchEvent): boolean =>
    (values.event.length === 0 || values.event.includes(event.kind)) &&
    (filter === undefined || event.object === undefined || mentions(event.object, filter));

  let last: Snapshot | undefined;
  const onSnapshot = (snapshot: Snapshot, before: Snapshot | undefined): true | undefined => {
    last = snapshot;
    if (before === undefined) printStart(snapshot);
    else {
      const { events, omitted } = watchEvents(diffSnapshots(before, snapshot), before.origins);
      for (const event of events.filter(isSelected)) {
        screen.print(values.json ? formatJsonLine(jsonOf(eventToJson(event))) : formatEvent(event, screen.palette));
      }
      if (omitted > 0) io.stderr.write(`wirescope: ${omitted} more changes at this moment are not shown.\n`);
    }
    return until !== undefined && channelsNotIn(until, snapshot, filter)?.length === 0 ? true : undefined;
  };
  const isReached = await eachSnapshot(sampler, signal, onSnapshot, recorded && partOf(recorded, durationMs));
  clearTimeout(timer);
  if (isTimeUp && last === undefined) {
    io.stderr.write("wirescope: The first read did not finish within --for.\n");
    return exitCode.failure;
  }
  if (until === undefined) return exitCode.ok;
  if (isReached === true) return exitCode.ok;
  if (!isTimeUp) return exitCode.interrupted;
  const others = channelsNotIn(until, last, filter);
  const reason =
    others === undefined
      ? "No channel matches."
      : `Not ${until}: ${others.map(({ id, name, target, state }) => `channel ${id} ${name || target} (${state})`).join(", ")}.`;
  io.stderr.write(`wirescope: ${printableText(reason)}\n`);
  return exitCode.failure;

  function printStart({ objects, origins }: Snapshot): void {
    for (const origin of origins) {
      if (origin.error !== undefined) io.stderr.write(`wirescope: ${printableText(silentTarget(origin))}\n`);
    }
    if (values.json || until !== undefined || recorded !== undefined) return;
    io.stderr.write(`Watching ${objects.size} ${objects.size === 1 ? "object" : "objects"}. Press Ctrl-C to stop.\n`);
  }
}

/** The part of a recording from a chosen moment on. */
function partOf({ chosenMs, firstMs, lastMs }: RecordedHistory, durationMs: number | undefined): TimelineRange {
  const startMs = chosenMs ?? firstMs;
  return { firstMs: startMs, lastMs: durationMs === undefined ? lastMs : startMs + durationMs };
}

/** The top channels that match the filter and have another state; undefined if none matches, or one could not be read. */
function channelsNotIn(
  state: string,
  snapshot: Snapshot | undefined,
  filter: string | undefined,
): readonly SnapshotObject[] | undefined {
  const channels = [...(snapshot?.objects.values() ?? [])].filter(
    (object) => object.isTop && (filter === undefined || mentions(object, filter)),
  );
  if (channels.length === 0) return undefined;
  return channels.filter((channel) => channel.state !== state || channel.unreadable !== undefined);
}

/** Whether the origin, name or target of an object contains a string, or its id is the string. */
export function mentions({ id, name, target = "", origin }: SnapshotObject, text: string): boolean {
  const wanted = text.toLowerCase();
  return String(id) === text || [name, target, origin].some((part) => part.toLowerCase().includes(wanted));
}
