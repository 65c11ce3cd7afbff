import { computed, type ReadonlySignal, signal } from "@preact/signals";
import {
  type HistoryRequest,
  readRecording,
  readSeries,
  type Snapshot,
  type Timeline,
  type TimelineChange,
  type TimelineHistory,
  type TimelineRange,
} from "@wirescope/channelz/timeline";

/** A recording that the page shows instead of live data. */
export interface Recording {
  /** The name of its file. */
  readonly name: string;
  readonly range: TimelineRange;
  readonly changes: readonly TimelineChange[];
  /** Which part of the file could not be read. */
  readonly problem: string | undefined;
  at(timeMs: number): Promise<Snapshot | undefined>;
  history(request: HistoryRequest): Promise<TimelineHistory>;
}

const maxFileBytes = 512 * 2 ** 20;

const opened = signal<Recording | undefined>(undefined);

/** The recording that is shown; undefined if the page is live. */
export const recording: ReadonlySignal<Recording | undefined> = computed(() => opened.value);

function createRecording(name: string, timeline: Timeline, problem: string | undefined): Recording {
  const range = timeline.range();
  if (range === undefined) throw new Error(problem ?? `${name} contains no snapshot.`);
  const all = timeline.changes();
  return {
    name,
    range,
    changes: all,
    problem,
    at: async (timeMs) => timeline.at(timeMs),
    async history({ firstMs, lastMs, maxPoints = 300, series = [] }) {
      const within = { firstMs: firstMs ?? range.firstMs, lastMs: lastMs ?? range.lastMs };
      return {
        range,
        changes: timeline.changes(within),
        hasMoreChanges: false,
        series: await readSeries(timeline, series, { ...within, maxPoints }),
      };
    },
  };
}

/** Reads a recording in the browser. Rejects if the file is not a recording. */
export async function readRecordingFile(file: File): Promise<Recording> {
  if (file.size > maxFileBytes) {
    throw new Error(
      `${file.name} has ${Math.round(file.size / 2 ** 20)} MiB. The page opens recordings of up to ${maxFileBytes / 2 ** 20} MiB.`,
    );
  }
  const { timeline, damagedBytes, isShortened } = await readRecording(new Uint8Array(await file.arrayBuffer())).catch(
    (error: Error) => Promise.reject(new Error(`${file.name} cannot be opened. ${error.message}`)),
  );
  const problems = [
    ...(damagedBytes > 0 ? [`${damagedBytes} bytes of the file are damaged; the rest is shown.`] : []),
    ...(isShortened ? ["The file is too large for the page; the newest part is shown."] : []),
  ];
  return createRecording(file.name, timeline, problems.length === 0 ? undefined : problems.join(" "));
}

/** Shows a recording; undefined shows live data. */
export function showRecording(shown: Recording | undefined): void {
  opened.value = shown;
}
