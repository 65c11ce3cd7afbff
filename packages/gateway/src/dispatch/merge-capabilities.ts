import { isObject, type RpcObject } from "@wirescope/tool-server/internal";
import type { GatewayServer } from "../servers/server.js";

/** The maximum length of the extensions of one server, in characters: a client receives those of all servers at once. */
const maxLength = 16_384;

/**
 * The extensions that connected servers declare, by id. If several declare the same, objects are merged and lists joined; of other
 * values the first is used.
 */
export function mergeExtensions(servers: readonly GatewayServer[]): Readonly<Record<string, RpcObject>> {
  const merged: Record<string, RpcObject> = {};
  for (const server of servers) {
    const { extensions } = (server.describe()?.capabilities ?? {}) as RpcObject;
    if (!isObject(extensions) || JSON.stringify(extensions).length > maxLength) continue;
    for (const [id, settings] of Object.entries(extensions)) {
      if (!isObject(settings) || id === "__proto__") continue;
      const before = Object.hasOwn(merged, id) ? merged[id] : undefined;
      merged[id] = before === undefined ? settings : mergeObjects(before, settings);
    }
  }
  return merged;
}

function mergeObjects(first: RpcObject, second: RpcObject): RpcObject {
  const merged: Record<string, unknown> = { ...first };
  for (const [key, value] of Object.entries(second)) {
    const before = Object.hasOwn(merged, key) ? merged[key] : undefined;
    if (key === "__proto__") continue;
    if (before === undefined) merged[key] = value;
    else if (isObject(before) && isObject(value)) merged[key] = mergeObjects(before, value);
    else if (Array.isArray(before) && Array.isArray(value)) merged[key] = [...new Set([...before, ...value])];
    // What one server supports is available through the gateway.
    else if (typeof before === "boolean" && typeof value === "boolean") merged[key] = before || value;
  }
  return merged;
}
