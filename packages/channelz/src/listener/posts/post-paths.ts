import type { Fallback } from "../reception.js";
import type { PostHandler } from "./post-lane.js";

/** Reads who answers plain posts, by path. Throws a TypeError for paths that cannot be had, and where nobody answers the other posts. */
export function readPostPaths(
  posts: Readonly<Record<string, PostHandler>> | undefined,
  fallback: Fallback | undefined,
): ReadonlyMap<string, PostHandler> {
  const paths = new Map(Object.entries(posts ?? {}));
  if (paths.size > 0 && fallback === undefined) {
    throw new TypeError("posts needs a fallback: it gets the posts that do not come plain and whole. Set fallback.");
  }
  for (const path of paths.keys()) {
    // Services are called at paths of two parts.
    if (!/^\/[^/?]*$/.test(path)) {
      throw new TypeError(`posts has "${path}", which is no path of one part. Write it like /mcp, without a query.`);
    }
  }
  return paths;
}
