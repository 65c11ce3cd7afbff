import { isObject, type RpcObject } from "@wirescope/tool-server/internal";
import { definitionsOf, type Offered } from "../servers/offered.js";
import type { ServerItems } from "./find-offered.js";

/** The extension of clients that show which server offers an item, and what the server calls it. */
export const originExtension = "io.wirescope/origin";

/** Whether a client shows the origin of items. Others do not receive it, because it makes lists longer. */
export function showsOrigins({ extensions }: RpcObject): boolean {
  return isObject(extensions) && isObject(extensions[originExtension]);
}

/** A list item with its origin in `_meta`. An origin that the server itself has set is replaced. */
export function withOrigin(definition: RpcObject, server: string, name: string): RpcObject {
  const meta = isObject(definition._meta) ? definition._meta : {};
  return { ...definition, _meta: { ...meta, [originExtension]: { server, name } } };
}

/** The tools or prompts of all servers for a client with these capabilities. Of several with the same name, the first. */
export function definitionsFor(capabilities: RpcObject, lists: readonly ServerItems<Offered>[]): RpcObject[] {
  const showsOrigin = showsOrigins(capabilities);
  const shown = ({ server, items }: ServerItems<Offered>): readonly Offered[] =>
    showsOrigin
      ? items.map((item) => ({ ...item, definition: withOrigin(item.definition, server.name, item.original) }))
      : items;
  return definitionsOf(lists.flatMap(shown));
}
