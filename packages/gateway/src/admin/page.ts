import { Code, ConnectError } from "@connectrpc/connect";

export interface PageRequest {
  readonly pageSize: number;
  readonly pageToken: string;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextPageToken: string;
}

const usualSize = 100;
const largestSize = 1000;

/** A page of a list whose items have names of their own. The token is the name of the last item. Throws INVALID_ARGUMENT. */
export function pageOf<Item extends { readonly name: string }>(
  all: readonly Item[],
  { pageSize, pageToken }: PageRequest,
): Page<Item> {
  if (pageSize < 0) throw new ConnectError("The page_size is negative. Leave it out for 100.", Code.InvalidArgument);
  const size = Math.min(pageSize || usualSize, largestSize);
  const last = pageToken === "" ? -1 : all.findIndex(({ name }) => name === pageToken);
  if (last < 0 && pageToken !== "") {
    throw new ConnectError("The page_token is not known any more. Begin with the first page.", Code.InvalidArgument);
  }
  const items = all.slice(last + 1, last + 1 + size);
  const isLast = last + 1 + size >= all.length;
  return { items, nextPageToken: isLast ? "" : (items.at(-1)?.name ?? "") };
}
