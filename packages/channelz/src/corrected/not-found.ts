import { findKinds, type ObjectKind } from "../client/find-kinds.js";
import { ChannelzError } from "../errors.js";
import type { ReadOptions, Source } from "../source.js";

const maxObjects = 1000;

/**
 * Corrects the error of a failed lookup. Some peers fail with INTERNAL for an id that does not exist or is of another kind. Returns
 * the error to throw: NOT_FOUND if the peer's lists prove that, otherwise the original error.
 */
export async function correctLookupError(
  source: Source,
  kind: ObjectKind,
  id: bigint,
  error: unknown,
  options: ReadOptions | undefined,
): Promise<{ readonly error: unknown; readonly detail?: string }> {
  if (!ChannelzError.is(error, "PEER_FAILED") || options?.signal?.aborted) return { error };
  try {
    const proof = await absence(source, kind, id, options);
    if (proof === undefined) return { error };
    const message = `The peer has no ${kind} ${id}: ${proof}. (Corrected: it said "${error.message}")`;
    return { error: new ChannelzError("NOT_FOUND", message, { cause: error }), detail: `${kind} ${id}: ${proof}` };
  } catch {
    // The lists fail as well, so nothing is proven.
    return { error };
  }
}

async function absence(
  source: Source,
  kind: ObjectKind,
  id: bigint,
  options: ReadOptions | undefined,
): Promise<string | undefined> {
  if (kind === "server") {
    const page = await source.getServers({ startId: id, maxResults: 1 }, options);
    return page.server.some(({ ref }) => ref?.serverId === id) ? undefined : "its list of servers lacks it";
  }
  const kinds = await findKinds(source, id, { signal: options?.signal, maxObjects });
  return kinds.length === 0 || kinds.includes(kind) ? undefined : `that id is a ${kinds.join(" and a ")}`;
}
