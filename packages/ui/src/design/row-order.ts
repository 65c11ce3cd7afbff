/** The value by which a column sorts a row. */
export type SortValue = string | number | bigint | undefined;

export interface SortOrder {
  readonly column: string;
  readonly isDescending: boolean;
}

/** Sorts rows by a value. Rows without one come last in both directions, and equal rows keep their order. */
export function sortRows<Row>(rows: readonly Row[], sortValue: (row: Row) => SortValue, isDescending: boolean): Row[] {
  const direction = isDescending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [left, right] = [sortValue(a), sortValue(b)];
    if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined);
    if (typeof left === "string" && typeof right === "string") {
      return direction * left.localeCompare(right, undefined, { numeric: true });
    }
    return left < right ? -direction : left > right ? direction : 0;
  });
}

/** Keeps the order of existing rows: new rows are added at the end, and removed rows leave no gap. */
export function keepOrder<Row>(rows: readonly Row[], keyOf: (row: Row) => string, order: readonly string[]): Row[] {
  const byKey = new Map(rows.map((row) => [keyOf(row), row]));
  const kept = order.flatMap((key) => {
    const row = byKey.get(key);
    byKey.delete(key);
    return row === undefined ? [] : [row];
  });
  return [...kept, ...byKey.values()];
}
