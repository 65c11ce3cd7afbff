import { createHash } from "node:crypto";
import { isObject, type RpcObject } from "@wirescope/tool-server/internal";
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

/** A tool as it is offered; undefined if its definition is invalid, or declares invalid headers. */
export function offerTool(server: string, definition: RpcObject, isUnprefixed = false): OfferedTool | undefined {
  const { name: original, execution, ...rest } = definition;
  if (typeof original !== "string" || !isObject(definition.inputSchema)) return undefined;
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
export function definitionsOf(lists: readonly (readonly Offered[] | undefined)[]): RpcObject[] {
  const all = lists.flatMap((list) => list ?? []);
  return [...indexOf(all).values()].map(({ definition }) => definition);
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

/** The maximum length of a name that clients accept, in characters. */
export const maxNameLength = 64;

const hashLength = 10;
const hashed = new RegExp(`_[0-9a-f]{${hashLength}}$`);

/**
 * The name under which a tool or prompt is offered: `server__tool`. It depends on the two names only, so it is stable; it has only
 * letters, digits, `_` and `-`, at most 64 of them; and it is unique. A name that does not fit these rules ends with a hash of
 * both. Unprefixed, it is the server's own name, and two servers may share it.
 */
export function exposedName(server: string, name: string, isUnprefixed = false): string {
  if (isUnprefixed && name.length <= maxNameLength && /^[A-Za-z0-9_-]+$/.test(name)) return name;
  const plain = `${server}__${name}`;
  return isPlain(server, name, plain) ? plain : hashedName(server, name);
}

/** The prefix of the names of all tools and prompts of a server. */
export function exposedPrefix(server: string): string {
  return `${cleaned(server)}__`;
}

/**
 * If the server's name has no `__` and does not end with `_`, the first `__` marks its end, so no other pair has the same name. A
 * name that looks as if it ended with a hash could collide with a hashed one.
 */
function isPlain(server: string, name: string, plain: string): boolean {
  return (
    plain.length <= maxNameLength &&
    /^[A-Za-z0-9_-]+$/.test(plain) &&
    server !== "" &&
    name !== "" &&
    !server.includes("__") &&
    !server.endsWith("_") &&
    !hashed.test(plain)
  );
}

function hashedName(server: string, name: string): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([server, name]))
    .digest("hex")
    .slice(0, hashLength);
  const readable = `${exposedPrefix(server)}${cleaned(name)}`.slice(0, maxNameLength - hashLength - 1);
  return `${readable}_${hash}`;
}

function cleaned(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]/g, "_");
}
