import type { JsonObject } from "@bufbuild/protobuf";
import type { Screen } from "../output/screen.js";
import type { Column } from "../output/table.js";

/** How the objects of a list are counted and grouped. */
export interface GroupSpec<T> {
  /** The title of the column that `--group` groups by, such as `TARGET`. */
  readonly groupTitle: string;
  groupOf(item: T): string;
  stateOf(item: T): string;
  rankOf(item: T): number;
  isFailing(item: T): boolean;
  countersOf(item: T): { readonly started: bigint; readonly failed: bigint };
  reasonOf?(item: T): string | undefined;
}

/** The objects with the same target or address. */
export interface Group<T> {
  readonly name: string;
  readonly items: readonly T[];
  readonly origins: ReadonlySet<string>;
  readonly states: ReadonlyMap<string, number>;
  readonly started: bigint;
  readonly failed: bigint;
  readonly failing: number;
  readonly reason: string | undefined;
}

/** The groups of a list, in the order of their first objects. */
export function groupRows<T>(
  rows: readonly { readonly origin: string; readonly item: T }[],
  spec: GroupSpec<T>,
): Group<T>[] {
  const groups = new Map<string, { items: T[]; origins: Set<string> }>();
  for (const { origin, item } of rows) {
    const name = spec.groupOf(item);
    const group = groups.get(name) ?? { items: [], origins: new Set() };
    groups.set(name, group);
    group.items.push(item);
    group.origins.add(origin);
  }
  return [...groups].map(([name, { items, origins }]) => {
    const sum = (field: "started" | "failed"): bigint =>
      items.reduce((total, item) => total + spec.countersOf(item)[field], 0n);
    return {
      name,
      items,
      origins,
      states: statesOf(items, spec),
      started: sum("started"),
      failed: sum("failed"),
      failing: items.filter((item) => spec.isFailing(item)).length,
      reason: items.map((item) => spec.reasonOf?.(item)).find((reason) => reason !== undefined),
    };
  });
}

/** The columns of a list of groups. */
export function groupColumns<T>(spec: GroupSpec<T>, { palette }: Screen, isMany: boolean): Column<Group<T>>[] {
  return [
    { title: spec.groupTitle, minWidth: 16, importance: 9, text: ({ name }) => name },
    { title: "COUNT", align: "right", importance: 8, text: ({ items }) => String(items.length) },
    ...(isMany
      ? [
          {
            title: "ORIGINS",
            align: "right",
            importance: 5,
            text: ({ origins }: Group<T>) => String(origins.size),
          } as const,
        ]
      : []),
    {
      title: "STATES",
      minWidth: 20,
      importance: 8,
      text: ({ states }) => stateText(states),
      paint: ({ failing }) => (failing > 0 ? palette.bad : palette.plain),
    },
    { title: "CALLS", align: "right", importance: 3, text: ({ started }) => String(started) },
    {
      title: "FAILED",
      align: "right",
      importance: 4,
      text: ({ failed }) => String(failed),
      paint: ({ failed }) => (failed > 0n ? palette.bad : palette.plain),
    },
    ...(spec.reasonOf === undefined
      ? []
      : [{ title: "REASON", minWidth: 16, importance: 6, text: ({ reason }: Group<T>) => reason ?? "-" } as const]),
  ];
}

/** A group in JSON. */
export function groupToJson<T>(group: Group<T>, isMany: boolean): JsonObject {
  return {
    group: group.name,
    count: group.items.length,
    ...(isMany ? { origins: [...group.origins] } : {}),
    states: Object.fromEntries(group.states),
    started: String(group.started),
    failed: String(group.failed),
    ...(group.reason === undefined ? {} : { reason: group.reason }),
  };
}

/** How many objects are in each state, problems first: `10 TRANSIENT_FAILURE, 490 READY`. */
export function countStates<T>(items: readonly T[], spec: GroupSpec<T>): string {
  return stateText(statesOf(items, spec));
}

function statesOf<T>(items: readonly T[], spec: GroupSpec<T>): Map<string, number> {
  const states = new Map<string, number>();
  for (const item of items.toSorted((a, b) => spec.rankOf(a) - spec.rankOf(b))) {
    states.set(spec.stateOf(item), (states.get(spec.stateOf(item)) ?? 0) + 1);
  }
  return states;
}

function stateText(states: ReadonlyMap<string, number>): string {
  return [...states].map(([state, count]) => `${count} ${state}`).join(", ");
}
