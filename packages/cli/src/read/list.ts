import type { JsonObject } from "@bufbuild/protobuf";
import type { Gathered, Source } from "@wirescope/channelz";
import { printableText } from "@wirescope/channelz/internal/text";
import { parseCount } from "../option-values.js";
import { formatJson } from "../output/json.js";
import type { Screen } from "../output/screen.js";
import { silentTarget } from "../output/silent-target.js";
import { type Column, renderTable } from "../output/table.js";
import { truncateToWidth, wrapHard } from "../output/text-layout.js";
import { countStates, type GroupSpec, groupColumns, groupRows, groupToJson } from "./list-groups.js";
import {
  assertAllRespond,
  assertComplete,
  type PartialItems,
  parseMaxObjects,
  type ReadTask,
  readTargets,
  readUntilStopped,
} from "./read-task.js";

/** The values of a command that lists objects. */
export interface ListValues {
  readonly json: boolean;
  readonly "max-objects": string | undefined;
  readonly limit: string | undefined;
  readonly state: readonly string[];
  readonly failing: boolean;
  readonly filter: string | undefined;
  readonly sort: string | undefined;
  readonly group: boolean;
}

/** An object in a list, and the target that it was read from. */
export interface Listed<T> {
  readonly origin: string;
  readonly item: T;
}

/** The definition of a list of one kind of objects. */
export interface ListSpec<T> extends GroupSpec<T> {
  /** Such as `channels`. */
  readonly noun: string;
  read(
    source: Source,
    options: { readonly signal: AbortSignal; readonly maxObjects: number | undefined },
  ): AsyncIterable<T>;
  /** Adds details to the objects of one target that require more reads. */
  complete?(source: Source, items: readonly T[], signal: AbortSignal): Promise<readonly T[]>;
  idOf(item: T): bigint;
  isFailing(item: T): boolean;
  /** Problems first: the order among states, lower numbers first. */
  rankOf(item: T): number;
  /** The texts that `--filter` searches. */
  textsOf(item: T): readonly string[];
  /** The orders that `--sort` names, in addition to `problems` and `id`. */
  readonly orders: Readonly<Record<string, (a: T, b: T) => number>>;
  columns(screen: Screen, items: readonly T[]): Column<T>[];
  toJson(item: T): JsonObject;
  /** Lines below the table. */
  notes?(items: readonly T[]): string[];
}

/** Reads the objects of every target, and prints those that the options select. */
export async function printList<T>(task: ReadTask<ListValues>, spec: ListSpec<T>): Promise<void> {
  const { screen, values } = task;
  const maxObjects = parseMaxObjects(values);
  const limit = parseCount(values.limit, "--limit", 0);
  const gathered = await readTargets(task, async (source, signal) => {
    const read: PartialItems<T> = await readUntilStopped(spec.read(source, { signal, maxObjects }));
    return { ...read, items: (await spec.complete?.(source, read.items, signal)) ?? read.items };
  });
  const all = gathered.flatMap(({ origin, value }) =>
    (value?.items ?? []).map((item): Listed<T> => ({ origin: origin.origin, item })),
  );
  const selected = sortRows(selectRows(all, values, spec), values, spec);
  if (values.json) printJson(screen, selected.slice(0, limit || undefined), values, spec, gathered);
  else printText(task, { all, selected }, limit, spec, gathered);
  assertComplete(gathered.find(({ value }) => value?.stoppedBy !== undefined)?.value?.stoppedBy);
  assertAllRespond(gathered);
}

/** The objects that `--state`, `--failing` and `--filter` select. */
function selectRows<T>(rows: readonly Listed<T>[], values: ListValues, spec: ListSpec<T>): readonly Listed<T>[] {
  const text = values.filter?.toLowerCase();
  return rows.filter(
    ({ origin, item }) =>
      (values.state.length === 0 || values.state.includes(spec.stateOf(item))) &&
      (!values.failing || spec.isFailing(item)) &&
      (text === undefined || [origin, ...spec.textsOf(item)].some((each) => each.toLowerCase().includes(text))),
  );
}

/** By default, text is sorted by problems and JSON by id. The sort is stable. */
function sortRows<T>(
  rows: readonly Listed<T>[],
  { sort, json }: Pick<ListValues, "sort" | "json">,
  spec: ListSpec<T>,
): readonly Listed<T>[] {
  const order = sort ?? (json ? "id" : "problems");
  if (sort === undefined && order === "id") return rows;
  if (order === "id") return sortById(rows, spec);
  const rank = (item: T): number => (spec.isFailing(item) ? -1 : spec.rankOf(item));
  const compare = order === "problems" ? (a: T, b: T): number => rank(a) - rank(b) : spec.orders[order];
  return compare === undefined ? rows : rows.toSorted((a, b) => compare(a.item, b.item));
}

function sortById<T>(rows: readonly Listed<T>[], spec: ListSpec<T>): readonly Listed<T>[] {
  const originOrder = new Map([...new Set(rows.map(({ origin }) => origin))].map((origin, index) => [origin, index]));
  return rows.toSorted((a, b) => {
    const [first, second] = [spec.idOf(a.item), spec.idOf(b.item)];
    return (
      (originOrder.get(a.origin) ?? 0) - (originOrder.get(b.origin) ?? 0) ||
      (first < second ? -1 : first > second ? 1 : 0)
    );
  });
}

function printJson<T>(
  screen: Screen,
  rows: readonly Listed<T>[],
  values: ListValues,
  spec: ListSpec<T>,
  gathered: readonly Gathered<unknown>[],
): void {
  const isMany = gathered.length > 1;
  const objects = values.group
    ? groupRows(rows, spec).map((group) => groupToJson(group, isMany))
    : rows.map(({ origin, item }) => ({ ...(isMany ? { origin } : {}), ...spec.toJson(item) }));
  const failed = gathered.flatMap(({ origin, error }) =>
    error === undefined ? [] : [{ origin: origin.origin, target: origin.target, error: error.message }],
  );
  screen.print(formatJson([...objects, ...failed]));
}

function printText<T>(
  { screen, values }: Pick<ReadTask<ListValues>, "screen" | "values">,
  rows: { readonly all: readonly Listed<T>[]; readonly selected: readonly Listed<T>[] },
  limit: number | undefined,
  spec: ListSpec<T>,
  gathered: readonly Gathered<unknown>[],
): void {
  const { all, selected } = rows;
  const isMany = gathered.length > 1;
  const silent = silentLines(gathered, screen);
  if (selected.length === 0) {
    screen.print(all.length === 0 ? `No ${spec.noun}.` : `None of the ${all.length} ${spec.noun} matches.`);
    screen.printAll(silent);
    return;
  }
  const max = limit ?? Math.max(minRows, (screen.height ?? Number.POSITIVE_INFINITY) - silent.length - otherLines);
  const shown = selected.slice(0, max || undefined);
  const items = shown.map(({ item }) => item);
  if (values.group) {
    const groups = groupRows(selected, spec);
    screen.printAll(renderTable(groupColumns(spec, screen, isMany), groups.slice(0, max || undefined), screen.width));
    screen.printAll(silent);
    screen.print(summaryOf(rows, spec));
    if (max > 0 && groups.length > max) screen.print(moreLine(groups.length - max, "groups", screen));
    return;
  }
  const origin: Column<Listed<T>> = {
    title: "ORIGIN",
    importance: 9,
    minWidth: 12,
    tightWidth: 8,
    text: (row) => row.origin,
  };
  const columns = spec.columns(screen, items).map(
    ({ text, paint, ...column }): Column<Listed<T>> => ({
      ...column,
      text: ({ item }) => text(item),
      ...(paint === undefined ? {} : { paint: ({ item }) => paint(item) }),
    }),
  );
  screen.printAll(renderTable(isMany ? [origin, ...columns] : columns, shown, screen.width));
  screen.printAll(silent);
  for (const note of spec.notes?.(items) ?? []) screen.printAll(wrapHard(note, screen.width));
  screen.print(summaryOf(rows, spec));
  if (shown.length < selected.length) screen.print(moreLine(selected.length - shown.length, spec.noun, screen));
}

/** A list shows at least this many rows, even if the terminal has fewer lines. */
const minRows = 10;
/** Lines of the terminal for the heading, the summary, the line about more rows and the prompt. */
const otherLines = 4;
const maxSilentLines = 10;

function moreLine(count: number, noun: string, { palette }: Screen): string {
  return palette.faint(`… ${count} more ${noun}; --limit 0 prints all.`);
}

/** Such as `500 channels: 10 TRANSIENT_FAILURE, 490 READY`. */
function summaryOf<T>(
  { all, selected }: { readonly all: readonly Listed<T>[]; readonly selected: readonly Listed<T>[] },
  spec: ListSpec<T>,
): string {
  const states = countStates(
    selected.map(({ item }) => item),
    spec,
  );
  const of = selected.length === all.length ? "" : ` of ${all.length}`;
  const noun = all.length === 1 ? spec.noun.replace(/s$/, "") : spec.noun;
  return printableText(`${selected.length}${of} ${noun}: ${states}`);
}

/** A line for each target that does not respond. */
function silentLines(gathered: readonly Gathered<unknown>[], { palette, width }: Screen): string[] {
  const failed = gathered.filter(({ error }) => error !== undefined);
  const lines = failed.slice(0, maxSilentLines).flatMap(({ origin, error }) => {
    const text = printableText(
      silentTarget({
        name: origin.origin,
        target: origin.target,
        error: error?.message,
        errorSubject: error?.subject,
      }),
      1000,
    );
    return width === undefined ? [text] : [truncateToWidth(text, width)];
  });
  if (failed.length > maxSilentLines) lines.push(`… ${failed.length - maxSilentLines} more targets do not respond.`);
  return lines.map((line) => palette.bad(line));
}
