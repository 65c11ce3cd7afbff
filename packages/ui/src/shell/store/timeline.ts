import { batch, computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { createChannelzClient } from "@wirescope/channelz/client";
import {
  type Counters,
  changesIn,
  createTimelineClient,
  createTimelineReader,
  type HistoryRequest,
  type ObjectKey,
  type SamplingCost,
  type Snapshot,
  type TimelineChange,
  type TimelineHistory,
  type TimelineRange,
  type TimelineUpdate,
} from "@wirescope/channelz/timeline";
import { address, setMoment } from "../routing/index.js";
import { applySoon } from "./batch.js";
import { foldRetries } from "./fold-retries.js";
import { createLatestLoader } from "./load-latest.js";
import { createRateWindow, rateWindowMs } from "./rates.js";
import { type Recording, readRecordingFile, recording, showRecording } from "./recording.js";
import { isRecordedTarget, session } from "./session.js";
import { transport } from "./transport.js";

/** The Channelz client, for data that a snapshot lacks, such as socket options. Only the store uses it. */
export const channelz: ReturnType<typeof createChannelzClient> = createChannelzClient(transport, {
  package: "rpc.channelz.v1",
  peer: "the server of this page",
});

const client = createTimelineClient(transport);

/** How many changes the page keeps for the ticks of the time bar. */
const maxChanges = 2000;

/** How often the page requests the range of kept moments, in milliseconds. */
const rangeMs = 20_000;

const live = signal<Snapshot | undefined>(undefined);
const past = signal<Snapshot | undefined>(undefined);
const recordingTime = signal<number | undefined>(undefined);
const missing = signal<{ readonly timeMs: number; readonly path: string } | undefined>(undefined);
const liveRange = signal<TimelineRange | undefined>(undefined);
const liveChanges = signal<readonly TimelineChange[]>([]);
const cost = signal<SamplingCost | undefined>(undefined);
const liveWindow = createRateWindow();
const pastWindow = createRateWindow();

/** All objects as they are now; undefined until they are loaded. */
export const liveSnapshot: ReadonlySignal<Snapshot | undefined> = computed(() => live.value);

/** The moment that the page shows, in milliseconds since 1970; undefined for now. A recording has no now. */
export const chosenTime: ReadonlySignal<number | undefined> = computed(() => {
  // The file of a recording is not in the address, so its moments are not either.
  return recording.value === undefined ? address.value.momentMs : (recordingTime.value ?? recording.value.range.lastMs);
});

/** The moment of the link that opened this view, if it is not kept, so that the page shows now instead. */
export const missingTime: ReadonlySignal<number | undefined> = computed(() => {
  return missing.value?.path === address.value.path ? missing.value.timeMs : undefined;
});

/** The moment that the page shows, which may be now, in milliseconds since 1970. Used to decide what has expired. */
export function shownTimeMs(): number {
  return chosenTime.value ?? (isRecordedTarget.value ? timeRange.value?.lastMs : undefined) ?? Date.now();
}

/** All objects at the moment that the page shows. */
export const snapshot: ReadonlySignal<Snapshot | undefined> = computed(() => {
  if (chosenTime.value === undefined) return live.value;
  // Until a past moment is loaded, the page keeps showing the live objects; a recording has other objects.
  return past.value ?? (recording.value === undefined ? live.value : undefined);
});

/** The time range that can be chosen; undefined until it is known. */
export const timeRange: ReadonlySignal<TimelineRange | undefined> = computed(() => {
  return recording.value?.range ?? liveRange.value;
});

/** The moments when something changed, oldest first. */
export const changes: ReadonlySignal<readonly TimelineChange[]> = computed(() => {
  return recording.value?.changes ?? liveChanges.value;
});

/** The changes without the retries of what fails, oldest first. */
export const distinctChanges: ReadonlySignal<readonly TimelineChange[]> = computed(() =>
  foldRetries(changes.value).map(({ change }) => change),
);

/** The cost of reading the objects; undefined if this server does not read them itself. */
export const samplingCost: ReadonlySignal<SamplingCost | undefined> = computed(() => cost.value);

/** Counts per second of an object at the moment that the page shows, as a mean over the last seconds. */
export function rates(key: ObjectKey): Counters {
  // Subscribes the component, so that it renders again with each snapshot.
  void snapshot.value;
  return (chosenTime.value === undefined ? liveWindow : pastWindow).rates(key);
}

/** Shows a moment of the past; undefined shows now. */
export function chooseTime(timeMs: number | undefined): void {
  const { firstMs = 0, lastMs = 0 } = timeRange.peek() ?? {};
  const chosen = timeMs === undefined ? undefined : Math.min(Math.max(timeMs, firstMs), lastMs);
  missing.value = undefined;
  if (recording.peek() === undefined) setMoment(chosen);
  else recordingTime.value = chosen;
}

const recordingProblem = signal<unknown>(undefined);

/** Why the last file could not be opened; undefined if it could. */
export const recordingError: ReadonlySignal<unknown> = computed(() => recordingProblem.value);

/** Shows a recording instead of live data, at its last moment. If it cannot be read, `recordingError` has the reason. */
export async function openRecording(file: File): Promise<void> {
  recordingProblem.value = undefined;
  try {
    show(await readRecordingFile(file));
  } catch (error) {
    recordingProblem.value = error;
  }
}

/** Shows live data again. */
export function closeRecording(): void {
  recordingProblem.value = undefined;
  show(undefined);
}

/** Shows the end of a recording, or now. */
function show(next: Recording | undefined): void {
  // In one batch: a moment of a recording must not be read from the live timeline, or the reverse.
  batch(() => {
    showRecording(next);
    past.value = undefined;
    recordingTime.value = undefined;
    setMoment(undefined);
  });
}

/** All objects at any moment; undefined if it is not kept. */
export function readMoment(timeMs: number, signal: AbortSignal): Promise<Snapshot | undefined> {
  return recording.peek()?.at(timeMs) ?? client.at(timeMs, { signal });
}

/** Counter values over time, and the changes in a time range. */
export function readHistory(request: HistoryRequest, signal: AbortSignal): Promise<TimelineHistory> {
  return recording.peek()?.history(request) ?? client.history(request, { signal });
}

/** Loads the chosen moment. Returns a function that ends it. */
export function followMoment(): () => void {
  const hasSession = computed(() => session.value !== undefined);
  return effect(() => {
    // A link with a moment is opened before the session.
    if (!hasSession.value) return;
    const timeMs = chosenTime.value;
    const from = recording.value ?? client;
    if (timeMs === undefined) past.value = undefined;
    else loadMoment({ timeMs, at: (at) => from.at(at) });
  });
}

/** Shows the live objects of a process, until the stream ends. */
export async function watchTarget(signal: AbortSignal, onMessage: () => void): Promise<void> {
  const show = createUpdater(signal);
  for await (const update of client.watch({ signal })) {
    onMessage();
    show(update);
  }
}

/** Returns a function that shows one encoded message of a gateway's timeline after the other. */
export function createTimelineUpdater(signal: AbortSignal): (message: Uint8Array) => void {
  const read = createTimelineReader();
  const show = createUpdater(signal);
  return (message) => show(read(message));
}

function createUpdater(signal: AbortSignal): (update: TimelineUpdate) => void {
  liveWindow.clear();
  return ({ snapshot: next, delta, cost: spent }) => {
    if (delta === undefined) loadKept(signal);
    if (next.timeMs - rangeReadMs > rangeMs) loadRange(next.timeMs, signal);
    const added = delta === undefined ? [] : changesIn(delta, live.peek()?.origins);
    liveWindow.add(next);
    if (added.length > 0) liveChanges.value = [...liveChanges.peek(), ...added].slice(-maxChanges);
    applySoon(live, () => {
      live.value = next;
      cost.value = spent;
      liveRange.value = { firstMs: liveRange.peek()?.firstMs ?? next.timeMs, lastMs: next.timeMs };
    });
  };
}

let rangeReadMs = Number.POSITIVE_INFINITY;

/** Updates the range: the server drops the oldest moments without notice. */
function loadRange(nowMs: number, signal: AbortSignal): void {
  rangeReadMs = nowMs;
  client.history({ maxChanges: 1 }, { signal }).then(
    ({ range }) => {
      liveRange.value = range;
    },
    () => {},
  );
}

/** Loads the range and the changes from before the page was opened. */
function loadKept(signal: AbortSignal): void {
  client.history({ maxChanges }, { signal }).then(
    ({ range, changes: kept }) => {
      liveRange.value = range;
      liveChanges.value = kept;
      if (range !== undefined) leaveMissingMoment(range);
      rangeReadMs = range?.lastMs ?? 0;
    },
    () => {
      // Only the ticks of the time bar are missing; the stream reports a lost connection.
    },
  );
}

/** Shows now if the link that opened the page has a moment that is not kept. */
function leaveMissingMoment({ firstMs, lastMs }: TimelineRange): void {
  const { momentMs, path } = address.peek();
  if (momentMs === undefined || past.peek() !== undefined) return;
  if (momentMs >= firstMs && momentMs <= lastMs) return;
  setMoment(undefined);
  missing.value = { timeMs: momentMs, path };
}

interface Moment {
  readonly timeMs: number;
  readonly at: (timeMs: number) => Promise<Snapshot | undefined>;
}

const loadMoment = createLatestLoader(showMoment);

/** Shows a moment. Also loads the one a few seconds earlier, for the rates. */
async function showMoment({ timeMs, at }: Moment): Promise<void> {
  const firstMs = timeRange.peek()?.firstMs ?? 0;
  const [before, chosen] = await Promise.all([at(Math.max(firstMs, timeMs - rateWindowMs)), at(timeMs)]);
  if (chosen === undefined || chosenTime.peek() === undefined) return;
  pastWindow.clear();
  if (before !== undefined && before.timeMs < chosen.timeMs) pastWindow.add(before);
  pastWindow.add(chosen);
  past.value = chosen;
}
