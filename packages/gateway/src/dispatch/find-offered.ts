import { abortable, quoted, RpcError, type RpcObject, rpcCodes } from "@wirescope/tool-server/internal";
import type { ClientCall } from "../client-call.js";
import { problemOf } from "../client-message.js";
import { maxNameLength } from "../exposed-name.js";
import { type Offered, type OfferedTool, offeredAs } from "../servers/offered.js";
import type { GatewayServer } from "../servers/server.js";
import { notCalled } from "../servers/server-calls.js";

interface Kinds {
  readonly tools: OfferedTool;
  readonly prompts: Offered;
}

interface ListKinds extends Kinds {
  readonly resources: RpcObject;
  readonly templates: RpcObject;
  readonly skills: RpcObject;
}

/** The items of one kind that a server has; none if it did not respond in time. */
export interface ServerItems<Item> {
  readonly server: GatewayServer;
  readonly items: readonly Item[];
}

/** Loads the lists of one kind, in the order of the servers. */
export async function loadLists<Kind extends keyof ListKinds>(
  servers: readonly GatewayServer[],
  kind: Kind,
): Promise<ServerItems<ListKinds[Kind]>[]> {
  const lists = await Promise.all(servers.map((server) => server[kind].get()));
  return servers.map((server, index) => ({ server, items: (lists[index] ?? []) as readonly ListKinds[Kind][] }));
}

/** How old a list may be to say that an item does not exist, in milliseconds. */
const maxAgeMs = 1000;

export interface Found<Item> {
  readonly server: GatewayServer;
  readonly item: Item;
}

/**
 * Finds the tool or prompt that is offered under a name. If it is not cached, the servers that could have it are queried. Rejects with
 * an RpcError if the name is unknown, or its server is not available; with a ToolServerError if a reload replaces or removes the server
 * meanwhile, and if the call is cancelled.
 */
export async function findOffered<Kind extends keyof Kinds>(
  servers: () => readonly GatewayServer[],
  kind: Kind,
  name: string,
  call: ClientCall,
): Promise<Found<Kinds[Kind]>> {
  const all = servers();
  const found = findCached(all, kind, name);
  if (found !== undefined) return found;
  // The name starts with the server's prefix, which is truncated if it is very long.
  const mayHave = ({ prefix }: GatewayServer): boolean => name.startsWith(prefix.slice(0, maxNameLength / 2));
  const candidates = all.filter(mayHave);
  const [first] = candidates;
  // A server that is not connected yet has no list, and one may have added the item without a notification.
  const { phases } = call;
  phases?.begin("connecting", first?.connectionInfo());
  const listed = Promise.all(candidates.map((server) => server[kind].get(maxAgeMs)));
  await abortable(listed, call, first?.name ?? "");
  phases?.end("connecting");
  const gone = candidates.find((server) => !servers().includes(server));
  if (gone !== undefined) throw notCalled(gone.name);
  const late = findCached(candidates, kind, name);
  if (late !== undefined) return late;
  const absent = candidates.find((server) => server[kind].cached === undefined);
  const unavailable = absent?.status();
  const title = kind === "tools" ? "Tool" : "Prompt";
  if (absent !== undefined && unavailable !== undefined) {
    const isConnected = unavailable.state === "READY";
    // That of a connected server is why its tools cannot be listed.
    const failure = isConnected && kind !== "tools" ? undefined : unavailable.failure;
    const [unlisted, waits] = isConnected
      ? [`cannot list its ${kind}`, `did not list its ${kind}`]
      : ["is down", "has not connected yet"];
    const state = failure === undefined ? `${waits}. Try again later.` : `${unlisted}: ${failure.message}`;
    const subject = `${title} ${plain(name)} is unavailable because server ${plain(unavailable.name)}`;
    const problem = problemOf(failure?.error);
    throw new RpcError(rpcCodes.failed, `${subject} ${state}`, {
      problem: problem && `${subject} ${unlisted}: ${absent.redact(problem, "own")}`,
      data: { reason: failure?.code ?? "SERVER_UNAVAILABLE", server: unavailable.name },
    });
  }
  throw new RpcError(
    rpcCodes.invalidParams,
    `${title} ${quoted(name)} does not exist. Call ${kind}/list for the names.`,
  );
}

/** A name, in quotes only if it could be confused with the surrounding sentence. */
function plain(name: string): string {
  return /^[\w-]{1,64}$/.test(name) ? name : quoted(name);
}

/** The tool or prompt that the cached lists have under a name. */
export function findCached<Kind extends keyof Kinds>(
  servers: readonly GatewayServer[],
  kind: Kind,
  name: string,
): Found<Kinds[Kind]> | undefined {
  for (const server of servers) {
    const item = offeredAs<Offered>(server[kind].cached, name);
    if (item !== undefined) return { server, item: item as Kinds[Kind] };
  }
  return undefined;
}
