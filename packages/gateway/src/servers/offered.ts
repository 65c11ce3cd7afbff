import { isObject, type RpcObject } from "@wirescope/tool-server/internal";
import { exposedName } from "../exposed-name.js";
import { type ParamHeader, paramHeadersOf } from "./param-headers.js";

/** A tool or a prompt, as it is offered to clients. */
export interface Offered {
  /** The name under which it is offered. */
  readonly name: string;
  /** The server's own name for it. */
  readonly original: string;
  /** Its definition, with the offered name. */
  readonly definition: RpcObject;
}

export interface OfferedTool extends Offered {
  /** Whether a legacy server can or must run it as a task. */
  readonly taskSupport: "optional" | "required" | undefined;
  readonly paramHeaders: readonly ParamHeader[];
}

/** A tool as it is offered; undefined if it declares invalid headers. */
export function offerTool(server: string, definition: RpcObject, isUnprefixed = false): OfferedTool | undefined {
  const { name: original, execution, ...rest } = definition;
  if (typeof original !== "string") return undefined;
  const paramHeaders = paramHeadersOf(definition.inputSchema);
  if (paramHeaders === undefined) return undefined;
  const name = exposedName(server, original, isUnprefixed);
  const declared = isObject(execution) ? execution.taskSupport : undefined;
  const taskSupport = declared === "optional" || declared === "required" ? declared : undefined;
  return { name, original, definition: { name, ...rest }, taskSupport, paramHeaders };
}

export function offerPrompt(server: string, definition: RpcObject, isUnprefixed = false): Offered | undefined {
  const { name: original, ...rest } = definition;
  if (typeof original !== "string") return undefined;
  const name = exposedName(server, original, isUnprefixed);
  return { name, original, definition: { name, ...rest } };
}

/** The definitions of all items; only the first of each name, because clients reject a list with duplicate names. */
export function definitionsOf(items: readonly Offered[]): RpcObject[] {
  return [...indexOf(items).values()].map(({ definition }) => definition);
}

function indexOf(list: readonly Offered[]): ReadonlyMap<string, Offered> {
  const index = new Map<string, Offered>();
  for (const item of list) if (!index.has(item.name)) index.set(item.name, item);
  return index;
}

const indexes = new WeakMap<readonly Offered[], ReadonlyMap<string, Offered>>();

/** The item with this offered name. The list is indexed once. */
export function offeredAs<Item extends Offered>(list: readonly Item[] | undefined, name: string): Item | undefined {
  if (list === undefined) return undefined;
  let index = indexes.get(list);
  if (index === undefined) {
    index = indexOf(list);
    indexes.set(list, index);
  }
  return index.get(name) as Item | undefined;
}
