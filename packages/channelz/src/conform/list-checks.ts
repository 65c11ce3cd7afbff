import type { Observations, ObservedAbsence, ObservedList } from "./observations.js";
import { type Check, type CheckResult, check, checkEach } from "./result.js";

const specified = check("specification");
const recommended = check("recommendation");

function listsOf({ topChannels, servers, serverSockets }: Observations): ObservedList<unknown>[] {
  return [servers, topChannels, ...serverSockets].filter(({ pages }) => pages.length > 0);
}

const pagesOf = (observations: Observations) =>
  listsOf(observations).flatMap(({ name, pages, single, middle, beyond }) =>
    [...pages, single, middle, beyond].flatMap((page) => (page === undefined ? [] : [{ name, ...page }])),
  );

/** Checks lookups of objects that should not exist. */
function checkNotFound(attempts: readonly ObservedAbsence[], what: string): CheckResult {
  return checkEach(attempts, what, ({ method, subject, failure }) => {
    if (failure === undefined) return `${method} with ${subject} returns a response`;
    return failure.code === "NOT_FOUND" ? undefined : `${method} with ${subject}: ${failure.message}`;
  });
}

/** Rules for lists, pages and lookups. */
export const listChecks: readonly Check[] = [
  specified("CZ-PAGE-1", "a page has only ids at or above its start id", (seen) =>
    checkEach(pagesOf(seen), "pages", ({ name, startId, ids }) => {
      const low = ids.find((id) => id < startId);
      return low === undefined ? undefined : `${name} from ${startId} lists ${low}`;
    }),
  ),
  specified("CZ-PAGE-2", "each page of a walk continues after the highest id", (seen) =>
    checkEach(listsOf(seen), "lists", ({ name, pages }) => {
      const repeated = pages.flatMap((page, at) => page.ids.filter((id) => pages[at + 1]?.ids.includes(id)));
      return repeated.length === 0 ? undefined : `${name} lists ${repeated[0]} on two pages`;
    }),
  ),
  specified("CZ-PAGE-3", "a page is sorted by ascending id, without repetitions", (seen) =>
    checkEach(pagesOf(seen), "pages", ({ name, ids }) => {
      const at = ids.findIndex((id, index) => index > 0 && id <= (ids[index - 1] ?? 0n));
      return at === -1 ? undefined : `${name} lists ${ids[at]} after ${ids[at - 1]}`;
    }),
  ),
  specified("CZ-PAGE-4", "a page has at least one item, or end is true", (seen) =>
    checkEach(pagesOf(seen), "pages", ({ name, startId, ids, end }) =>
      ids.length === 0 && !end ? `${name} from ${startId} is empty, and end is false` : undefined,
    ),
  ),
  specified("CZ-PAGE-5", "end is true on the final page", (seen) =>
    checkEach(listsOf(seen), "lists", ({ name, isEndMissing }) =>
      isEndMissing ? `${name} leaves end false on its final page; the next one is empty` : undefined,
    ),
  ),
  specified("CZ-LIMIT-1", "max_results caps a page", (seen) =>
    checkEach(
      listsOf(seen).flatMap(({ name, pages, single }) =>
        single === undefined || pages.every(({ ids }) => ids.length === 0) ? [] : [{ name, single }],
      ),
      "pages with a max_results of 1",
      ({ name, single }) =>
        single.ids.length > 1 ? `${name} returns ${single.ids.length} items for a max_results of 1` : undefined,
    ),
  ),
  specified("CZ-LIMIT-2", "a max_results of 0 lets the endpoint choose the size", (seen) =>
    checkEach(listsOf(seen), "lists", ({ name, pages: [first], single }) =>
      first?.ids.length === 0 && single?.ids.length ? `${name} returns nothing for a max_results of 0` : undefined,
    ),
  ),
  specified("CZ-ERR-2", "a list that starts beyond its last item is empty, with end", (seen) =>
    checkEach(listsOf(seen), "lists", ({ name, beyond, failures }) => {
      if (beyond === undefined) return `${name}: ${failures.at(-1)?.message ?? "no response"}`;
      if (beyond.ids.length > 0) return `${name} from ${beyond.startId} lists ${beyond.ids[0]}`;
      return beyond.end ? undefined : `${name} from ${beyond.startId} is empty, and end is false`;
    }),
  ),
  specified("CZ-ERR-1", "a lookup of an id that does not exist is NOT_FOUND", ({ unknownIds }) =>
    checkNotFound(unknownIds, "lookups of an unknown id"),
  ),
  recommended("CZ-D-ARG-4", "a lookup of an id of another kind is NOT_FOUND", ({ otherKinds }) =>
    checkNotFound(otherKinds, "lookups of an id of another kind"),
  ),
  recommended("CZ-D-ARG-5", "GetServerSockets of an unknown server is NOT_FOUND", ({ unknownServer }) =>
    checkNotFound(unknownServer === undefined ? [] : [unknownServer], "lookups of an unknown server"),
  ),
  recommended("CZ-D-TRACE-3", "an object that a trace refers to can be looked up", ({ traceChildren }) =>
    checkEach(traceChildren, "children in traces", ({ subject, failure }) =>
      failure === undefined ? undefined : `${subject} is ${failure.code}`,
    ),
  ),
];
