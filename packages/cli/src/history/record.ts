import { mergeSources, redactSource, type Source } from "@wirescope/channelz";
import { printableText } from "@wirescope/channelz/internal";
import { formatSpan } from "@wirescope/channelz/internal/text";
import { createTimeline, type Snapshot, sample } from "@wirescope/channelz/timeline";
import { createRecording, type RecordingWriter } from "@wirescope/channelz/timeline/node";
import type { TargetConnections } from "../connect-by-options.js";
import { exitCode } from "../failure.js";
import { writeReasonOf } from "../file-failure.js";
import type { Io } from "../io.js";
import { parseByteSize, parseCount, parseDuration } from "../option-values.js";
import { formatJsonLine } from "../output/json.js";
import { createScreen } from "../output/screen.js";
import { silentTarget } from "../output/silent-target.js";
import { UsageError } from "../usage-error.js";

/** The options of a recording, as written. */
export interface RecordOptions {
  readonly interval: string | undefined;
  readonly for: string | undefined;
  readonly "max-size": string | undefined;
  readonly "max-objects": string | undefined;
  readonly append: boolean;
  readonly redact: boolean;
  readonly json: boolean;
  readonly "no-color": boolean;
}

/** Samples targets into a file until the duration or the size is reached, or the signal aborts. Returns the exit code. */
export async function record(
  path: string,
  connections: Pick<TargetConnections, "source" | "parts">,
  options: RecordOptions,
  io: Io,
  signal: AbortSignal,
): Promise<number> {
  const intervalMs = options.interval === undefined ? 1000 : parseDuration(options.interval, "--interval");
  const durationMs = options.for === undefined ? undefined : parseDuration(options.for, "--for");
  const maxBytes = options["max-size"] === undefined ? 2 ** 30 : parseByteSize(options["max-size"], "--max-size");
  const maxObjects = parseCount(options["max-objects"], "--max-objects");
  const { source, target } = options.redact ? redacted(connections) : plain(connections);
  const writer = createFile(path, { maxBytes, append: options.append, timePrecisionMs: intervalMs });
  const stop = new AbortController();
  const ending: { by: "interrupted" | "duration" | "size" } = { by: "interrupted" };
  let timer: NodeJS.Timeout | undefined;
  const startTimer = (): void => {
    if (durationMs === undefined) return;
    timer ??= setTimeout(() => {
      ending.by = "duration";
      stop.abort();
    }, durationMs);
  };
  const onAbort = (): void => stop.abort();
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) stop.abort();

  const seen = { responded: false, firstMs: 0, lastMs: 0, objects: 0 };
  const problems = new Map<string, string | undefined>();
  let isPartial = false;
  const notice = (snapshot: Snapshot): void => {
    for (const origin of snapshot.origins) {
      const { name, error } = origin;
      if (problems.get(name) === error) continue;
      const title = name || origin.target || "The target";
      const text = error === undefined ? `${title} responds again.` : silentTarget(origin);
      io.stderr.write(`wirescope: ${printableText(text, 500)}\n`);
      problems.set(name, error);
    }
    const { stoppedBy, origins } = snapshot;
    if (stoppedBy === undefined || isPartial || origins.some(({ error }) => error === stoppedBy)) return;
    isPartial = true;
    io.stderr.write(`wirescope: The recording is partial. ${printableText(stoppedBy, 500)}\n`);
  };
  const timeline = createTimeline({ maxBytes: 0 });
  timeline.subscribe((snapshot) => {
    startTimer();
    notice(snapshot);
    seen.responded ||= snapshot.origins.some(({ error }) => error === undefined);
    seen.firstMs ||= snapshot.timeMs;
    seen.lastMs = snapshot.timeMs;
    seen.objects = snapshot.objects.size;
    if (writer.append(snapshot)) return;
    ending.by = "size";
    stop.abort();
  });
  const screen = createScreen(io, options["no-color"]);
  if (!options.json) {
    io.stderr.write(`wirescope: Recording ${target} every ${formatSpan(intervalMs)} to ${path}. Ctrl-C ends it.\n`);
  }
  const sampler = sample(source, { intervalMs, target, timeline, maxObjects, signal: stop.signal });
  try {
    await sampler.ended;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    writer.close();
  }
  const { samples, skipped, meanMs } = sampler.cost();
  const summary = { file: path, samples, skipped, objects: seen.objects, bytes: writer.bytes(), endedBy: ending.by };
  if (options.json) {
    screen.print(
      formatJsonLine({ ...summary, firstMs: seen.firstMs, lastMs: seen.lastMs, meanMs: Math.round(meanMs) }),
    );
  } else {
    const why = ending.by === "size" ? " The maximum size is reached." : "";
    screen.print(
      `Recorded ${samples} samples of ${seen.objects} objects in ${formatSpan(seen.lastMs - seen.firstMs)}: ` +
        `${writer.bytes()} bytes in ${printableText(path)}.${why}`,
    );
  }
  return seen.responded ? exitCode.ok : exitCode.failure;
}

interface RecordedSource {
  readonly source: Source;
  /** The name of what is recorded, in the file and in messages. */
  readonly target: string;
}

function plain({ source, parts }: Pick<TargetConnections, "source" | "parts">): RecordedSource {
  const [first] = parts;
  return { source, target: parts.length === 1 && first !== undefined ? first.target : `${parts.length} targets` };
}

/** Hides the addresses of the targets as well: they would be in every snapshot. */
function redacted({ parts }: Pick<TargetConnections, "parts">): RecordedSource {
  const [first] = parts;
  if (parts.length === 1 && first !== undefined) return { source: redactSource(first.source), target: "redacted" };
  const hidden = parts.map(({ origin, target, source }, index) => ({
    origin: origin === target ? `target-${index + 1}` : origin,
    target: "redacted",
    source: redactSource(source),
  }));
  return { source: mergeSources(hidden), target: `${parts.length} targets` };
}

function createFile(
  path: string,
  options: { maxBytes: number; append: boolean; timePrecisionMs: number },
): RecordingWriter {
  try {
    return createRecording(path, options);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") {
      throw new UsageError(`The file ${path} exists. Choose another one, or continue it with --append.`);
    }
    throw new UsageError(`Cannot write the recording ${path}: ${writeReasonOf(error)}`);
  }
}
