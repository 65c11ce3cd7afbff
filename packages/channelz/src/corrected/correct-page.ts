import type { AppliedCorrection } from "../correction-marks.js";
import type { PageRequest } from "../source.js";

/** A corrected page, and the corrections. */
export interface CorrectedPage<T> {
  readonly items: T[];
  readonly end: boolean;
  readonly applied: readonly AppliedCorrection[];
}

/** Truncates a page that is longer than the request allows, and ends a list at an empty page. */
export function correctPage<T>(
  items: readonly T[],
  end: boolean,
  idOf: (item: T) => bigint,
  { maxResults = 0 }: PageRequest = {},
): CorrectedPage<T> {
  if (items.length === 0 && !end) {
    return { items: [], end: true, applied: [{ id: "missing-end", detail: "the page was empty and end was not set" }] };
  }
  const max = Number(maxResults);
  if (max <= 0 || items.length <= max) return { items: [...items], end, applied: [] };
  const detail = `the page had ${items.length} items, and max_results was ${max}`;
  // The next page starts after the highest id of this one, so the lowest ids must be kept.
  const ascending = [...items].sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
  return { items: ascending.slice(0, max), end: false, applied: [{ id: "page-size", detail }] };
}
