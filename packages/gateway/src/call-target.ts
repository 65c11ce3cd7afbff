import { isObject, type RpcErrorObject } from "@wirescope/tool-server/internal";
import type { ClientCall } from "./client-call.js";
import { exposedPrefix } from "./exposed-name.js";

/** The server that a call is meant for, and what it calls there. */
export interface CallTarget {
  readonly server: string | undefined;
  /** As the server knows it; as the client calls it if the server is unknown. */
  readonly name: string | undefined;
}

/** The target of a call, as far as it is known. A call that failed because its server is down has no route: its error has the server. */
export function targetOf({ route, params }: Pick<ClientCall, "route" | "params">, error?: RpcErrorObject): CallTarget {
  if (route !== undefined) return route;
  const { data } = error ?? {};
  const server = isObject(data) && typeof data.server === "string" ? data.server : undefined;
  const requested = params.name ?? params.uri;
  const name = typeof requested === "string" ? requested : undefined;
  const prefix = server === undefined ? "" : exposedPrefix(server);
  return { server, name: name?.startsWith(prefix) ? name.slice(prefix.length) : name };
}
