import type { Connection } from "@wirescope/tool-server";
import { isObject, type JsonObject } from "@wirescope/tool-server/internal";
import type { LoadedList } from "../catalogue/cached-list.js";

/** The lists that a server has. */
export const listKinds = {
  tools: { method: "tools/list", field: "tools", capability: "tools" },
  prompts: { method: "prompts/list", field: "prompts", capability: "prompts" },
  resources: { method: "resources/list", field: "resources", capability: "resources" },
  templates: { method: "resources/templates/list", field: "resourceTemplates", capability: "resources" },
} as const;

export type ListKind = keyof typeof listKinds;

/** Past these a server that never ends its list is believed no more. */
const mostPages = 100;
const mostItems = 20_000;
/** What the pages of a list may take together, in characters. */
const mostCharacters = 16 * 1024 * 1024;

/** How long a list holds whose server does not tell of changes, in milliseconds. */
const quietTtlMs = 30_000;

/** The whole list of a server, page by page; empty where it has none. Rejects as the connection does. */
export async function fetchList(
  connection: Connection,
  kind: ListKind,
  timeoutMs: number,
): Promise<LoadedList<JsonObject>> {
  const { method, field, capability } = listKinds[kind];
  const deadline = Date.now() + timeoutMs;
  const server = connection.server ?? (await connection.connect({ signal: AbortSignal.timeout(timeoutMs) }));
  const offered = server.capabilities[capability];
  if (offered === undefined) return { items: [], ttlMs: Number.POSITIVE_INFINITY };
  const ttlMs = offered.listChanged === true ? Number.POSITIVE_INFINITY : quietTtlMs;
  const items: JsonObject[] = [];
  let cursor: string | undefined;
  let characters = 0;
  for (let page = 0; page < mostPages && items.length < mostItems; page += 1) {
    const result = await connection.request(method, cursor === undefined ? {} : { cursor }, {
      totalTimeoutMs: Math.max(1, deadline - Date.now()),
    });
    const found = result[field];
    // Not spread: a page may hold more than a call takes as arguments.
    for (const item of Array.isArray(found) ? found.filter(isObject) : []) {
      characters += lengthOf(item);
      if (characters > mostCharacters) {
        throw new Error(`The list is longer than ${mostCharacters} characters. Ask who runs the server for less.`);
      }
      if (items.length < mostItems) items.push(item);
    }
    const next = result.nextCursor;
    if (typeof next !== "string" || next === cursor) break;
    cursor = next;
  }
  return { items, ttlMs };
}

/** How long an item is as text; 0 where it is nested too deeply to be one, which is judged where it is offered. */
function lengthOf(item: JsonObject): number {
  try {
    return JSON.stringify(item).length;
  } catch {
    return 0;
  }
}
