import { existsSync, realpathSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { ChannelzError, printableText } from "@wirescope/channelz/internal";
import { readSnapshot, type SnapshotObject } from "@wirescope/channelz/timeline";
import { connectByOptions } from "../connect-by-options.js";
import { exitCode, reportFailure } from "../failure.js";
import type { Io } from "../io.js";
import { parseCount, parseDuration } from "../option-values.js";
import { formatJson } from "../output/json.js";
import { createScreen, type Screen } from "../output/screen.js";
import { renderTable } from "../output/table.js";
import { noteDamage, openMoment, recordingPrefix, splitMoment } from "../recorded-target.js";
import { type Comparison, compareSides, comparisonJson, hasDifferences, type Side } from "./compare.js";

type ConnectionValues = Parameters<typeof connectByOptions>[0];

/** The options of a comparison, as written. */
export type DiffOptions = ConnectionValues & {
  readonly window: string | undefined;
  readonly "max-objects": string | undefined;
  readonly json: boolean;
  readonly "no-color": boolean;
};

/** Compares two recordings, two moments or two processes. Returns the exit code: 1 if something differs. */
export async function diff(
  first: string,
  second: string,
  options: DiffOptions,
  io: Io,
  signal: AbortSignal,
): Promise<number> {
  const windowMs = options.window === undefined ? undefined : parseDuration(options.window, "--window");
  // Both sides may be moments of the same recording.
  const notes = new Set<string>();
  const read = (text: string): Promise<Side> => readSide(text, windowMs, options, io, notes, signal);
  const sides = await readSides([first, second], read, io);
  for (const note of notes) io.stderr.write(`wirescope: ${note}\n`);
  if (sides === undefined) return exitCode.notExamined;
  const [before, after] = sides;
  for (const { label, snapshot } of sides) {
    if (snapshot.stoppedBy === undefined) continue;
    io.stderr.write(`wirescope: ${printableText(`${label} is partial. ${snapshot.stoppedBy}`, 500)}\n`);
  }
  const comparison = compareSides(before, after);
  const screen = createScreen(io, options["no-color"]);
  if (options.json) {
    const sideJson = ({ label, snapshot }: Side) => ({ source: label, timeMs: snapshot.timeMs });
    screen.print(formatJson({ before: sideJson(before), after: sideJson(after), ...comparisonJson(comparison) }));
  } else printComparison(before, after, comparison, screen);
  return hasDifferences(comparison) ? exitCode.failure : exitCode.ok;
}

/** Both sides; undefined, after a message, if one cannot be read. */
async function readSides(
  texts: readonly [string, string],
  read: (text: string) => Promise<Side>,
  io: Io,
): Promise<readonly [Side, Side] | undefined> {
  try {
    return await Promise.all([read(texts[0]), read(texts[1])]);
  } catch (error) {
    // Exit code 1, as for other failures, would mean that the sides differ.
    if (!ChannelzError.is(error) || error.code === "TARGET_INVALID") throw error;
    reportFailure(error, io, "diff");
    return undefined;
  }
}

async function readSide(
  text: string,
  windowMs: number | undefined,
  options: DiffOptions,
  io: Io,
  notes: Set<string>,
  signal: AbortSignal,
): Promise<Side> {
  if (isRecording(text)) {
    const moment = openMoment(text);
    const { recording, path, timeMs } = moment;
    noteDamage(moment, (note) => notes.add(note));
    try {
      const snapshot = recording.at(timeMs) ?? recording.newest();
      if (snapshot === undefined) throw new TypeError("The recording is empty.");
      const earlier = recording.at(snapshot.timeMs - (windowMs ?? 10_000));
      return { label: text, identity: realpathSync(path), snapshot, earlier };
    } finally {
      recording.close();
    }
  }
  await using connections = await connectByOptions({ ...options, target: [text] }, io);
  const target = connections.parts[0]?.target ?? text;
  const read = { signal, target, maxObjects: parseCount(options["max-objects"], "--max-objects") };
  const earlier = await readSnapshot(connections.source, read);
  // Rates need two reads; one second is an acceptable wait.
  await delay(windowMs ?? 1000, undefined, { signal });
  const snapshot = await readSnapshot(connections.source, read);
  return { label: text, identity: target, snapshot, earlier };
}

function isRecording(text: string): boolean {
  const { path } = splitMoment(text);
  return text.startsWith(recordingPrefix) || path.endsWith(".wsr") || existsSync(text) || existsSync(path);
}

function printComparison(before: Side, after: Side, comparison: Comparison, screen: Screen): void {
  const { appeared, gone, states, rates, sockets } = comparison;
  const moment = ({ label, snapshot }: Side): string =>
    `${printableText(label, 200)} at ${new Date(snapshot.timeMs).toISOString()} (${snapshot.objects.size} objects)`;
  screen.printAll([`from ${moment(before)}`, `to   ${moment(after)}`]);
  if (!hasDifferences(comparison)) screen.print("No object appeared, disappeared or changed state.");
  const objectColumns = [
    { title: "KIND", text: ({ kind }: SnapshotObject) => kind },
    { title: "ID", text: ({ id }: SnapshotObject) => String(id), align: "right" as const },
    { title: "NAME", text: ({ name, target }: SnapshotObject) => name || target || "" },
  ];
  printList(screen, "Appeared", appeared, objectColumns);
  printList(screen, "Gone", gone, objectColumns);
  const ofObject = objectColumns.map((column) => ({
    ...column,
    text: ({ object }: { readonly object: SnapshotObject }) => column.text(object),
  }));
  printList(screen, "Changed state", states, [
    ...ofObject,
    { title: "FROM", text: ({ before: from }) => from },
    { title: "TO", text: ({ after: to }) => to },
  ]);
  const perSecond = ([from, to]: readonly [number, number]): string => `${from.toFixed(1)} -> ${to.toFixed(1)}`;
  printList(screen, "Rates per second", rates, [
    ...ofObject,
    { title: "STARTED", text: ({ started }) => perSecond(started), align: "right" as const },
    { title: "FAILED", text: ({ failed }) => perSecond(failed), align: "right" as const },
  ]);
  if (before.identity !== after.identity) screen.print(`Sockets: ${sockets[0]} -> ${sockets[1]}`);
}

/** How many lines of one kind are shown; `--json` has all of them. */
const maxLines = 50;

function printList<T>(
  screen: Screen,
  title: string,
  rows: readonly T[],
  columns: Parameters<typeof renderTable<T>>[0],
): void {
  if (rows.length === 0) return;
  screen.printAll(["", `${title} (${rows.length})`, ...renderTable(columns, rows.slice(0, maxLines), screen.width)]);
  if (rows.length > maxLines) screen.print(`… ${rows.length - maxLines} more; --json lists all.`);
}
