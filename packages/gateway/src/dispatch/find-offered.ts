import { quoted, RpcError, rpcCodes } from "@wirescope/tool-server/internal";
import { longestName } from "../catalogue/exposed-name.js";
import { type Offered, type OfferedTool, offeredAs } from "../catalogue/offered.js";
import type { Upstream } from "../servers/upstream.js";

interface Kinds {
  readonly tools: OfferedTool;
  readonly prompts: Offered;
}

/** Something that is offered, and the server that has it. */
export interface Found<Item> {
  readonly upstream: Upstream;
  readonly item: Item;
}

/**
 * Finds what is offered under a name. Where it is not known, the servers are asked that could have it. Rejects with an
 * RpcError that says why there is none: the name is unknown, or the server is not there.
 */
export async function findOffered<Kind extends keyof Kinds>(
  upstreams: readonly Upstream[],
  kind: Kind,
  name: string,
): Promise<Found<Kinds[Kind]>> {
  const found = findKnown(upstreams, kind, name);
  if (found !== undefined) return found;
  // The name tells the server, but for one that is so long that it had to be cut.
  const candidates = upstreams.filter(({ prefix }) => name.startsWith(prefix.slice(0, longestName / 2)));
  await Promise.all(candidates.map((upstream) => upstream[kind].get()));
  const late = findKnown(candidates, kind, name);
  if (late !== undefined) return late;
  const absent = candidates.find((upstream) => upstream[kind].known === undefined)?.status();
  if (absent !== undefined) {
    const why = absent.failure?.message ?? "It has not connected yet.";
    const message = `${quoted(name)} is of the server ${JSON.stringify(absent.name)}, which is not available. ${why}`;
    throw new RpcError(rpcCodes.failed, message, {
      data: { reason: absent.failure?.code ?? "SERVER_UNAVAILABLE", server: absent.name },
    });
  }
  const what = kind === "tools" ? "tool" : "prompt";
  throw new RpcError(
    rpcCodes.invalidParams,
    `There is no ${what} ${quoted(name)}. List the ${kind} for those that there are.`,
  );
}

/** What is offered under a name, as far as it is known. */
export function findKnown<Kind extends keyof Kinds>(
  upstreams: readonly Upstream[],
  kind: Kind,
  name: string,
): Found<Kinds[Kind]> | undefined {
  for (const upstream of upstreams) {
    const item = offeredAs<Offered>(upstream[kind].known, name);
    if (item !== undefined) return { upstream, item: item as Kinds[Kind] };
  }
  return undefined;
}
