import { ChannelzError } from "../errors.js";
import type { PageRequest, ReadOptions, Source } from "../source.js";
import type { BoundedReader } from "./bounded-source.js";
import type { ObservedList, ObservedPage } from "./observations.js";

/** A list that can be read in pages. */
export interface PagedList<T> {
  readonly name: string;
  page(source: Source, request: PageRequest, options: ReadOptions): Promise<{ items: readonly T[]; end: boolean }>;
  idOf(item: T): bigint;
}

/** An id beyond every object of a process. */
export const beyondEveryId: bigint = 2n ** 62n;

const maxPages = 20;

/** Reads a list by the paging rules, then the pages that show how it treats its arguments. */
export async function observeList<T>(reader: BoundedReader, list: PagedList<T>): Promise<ObservedList<T>> {
  const failures: ChannelzError[] = [];
  const readPage = async (startId: bigint, maxResults: number): Promise<ObservedPage<T> | undefined> => {
    const { value, failure } = await reader.read((source, options) =>
      list.page(source, { startId, maxResults }, options),
    );
    if (value === undefined) {
      failures.push(failure ?? new ChannelzError("PEER_FAILED", "no response"));
      return undefined;
    }
    return { startId, maxResults, ...value, ids: value.items.map(list.idOf) };
  };

  const pages = await walk(readPage);
  const ids = [...new Set(pages.flatMap((page) => page.ids))].filter((id) => id > 0n);
  const [lowest] = ids.toSorted((a, b) => (a < b ? -1 : 1));
  const hasSeveral = ids.length > 1 && lowest !== undefined;
  // An empty list is read again, in case the peer takes a max_results of 0 literally.
  const single = hasSeveral || lowest === undefined ? await readPage(0n, 1) : undefined;
  const middle = hasSeveral ? await readPage(lowest + 1n, 0) : undefined;
  const beyond = await readPage(beyondEveryId, 0);
  // An object may close between two pages, but hardly twice.
  const isEndMissing = endedAtEmptyPage(pages) && endedAtEmptyPage(await walk(readPage));
  return { name: list.name, pages, single, middle, beyond, isEndMissing, failures };
}

async function walk<T>(
  readPage: (startId: bigint, maxResults: number) => Promise<ObservedPage<T> | undefined>,
): Promise<ObservedPage<T>[]> {
  const pages: ObservedPage<T>[] = [];
  let startId = 0n;
  while (pages.length < maxPages) {
    const page = await readPage(startId, 0);
    if (page === undefined) break;
    pages.push(page);
    const next = page.ids.reduce((highest, id) => (id > highest ? id : highest), 0n) + 1n;
    if (page.end || page.ids.length === 0 || next <= startId || next >= beyondEveryId) break;
    startId = next;
  }
  return pages;
}

function endedAtEmptyPage(pages: readonly ObservedPage<unknown>[]): boolean {
  return pages.length > 1 && pages.at(-1)?.ids.length === 0 && pages.at(-2)?.end === false;
}

/** Whether a list still has an id. */
export async function isInList<T>(reader: BoundedReader, list: PagedList<T>, id: bigint): Promise<boolean> {
  const page = await reader.read((source, options) => list.page(source, { startId: id }, options));
  return page.value?.items.some((item) => list.idOf(item) === id) ?? false;
}
