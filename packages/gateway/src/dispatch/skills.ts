import { isObject, type RpcObject } from "@wirescope/tool-server/internal";
import type { ClientCall } from "../client-call.js";
import type { GatewayServer } from "../servers/server.js";
import { loadLists } from "./find-offered.js";
import { prefixedUri } from "./prefixed-uri.js";
import { forwardByUri, type ResourceRoutes } from "./resources.js";

/** The skills of all servers that responded in time, each with a URI that identifies its server. */
export async function listSkills(servers: readonly GatewayServer[], routes: ResourceRoutes): Promise<RpcObject> {
  const skills = (await loadLists(servers, "skills")).flatMap(({ server, items }) =>
    items.map((skill) =>
      routes.uriFor(server, String(skill.uri)) === skill.uri ? skill : prefixedSkill(server.name, skill),
    ),
  );
  return { skills, ttlMs: 0, cacheScope: "private" };
}

/** Gets a skill, listed or not, from the server that has it. */
export async function getSkill(routes: ResourceRoutes, call: ClientCall): Promise<RpcObject> {
  const { requested, server, uri, result } = await forwardByUri(routes, call);
  if (uri === requested || !isObject(result.skill)) return result;
  return { ...result, skill: prefixedSkill(server.name, result.skill) };
}

/** Lists a directory of a skill. */
export async function readDirectory(routes: ResourceRoutes, call: ClientCall): Promise<RpcObject> {
  const { requested, server, uri, result } = await forwardByUri(routes, call);
  if (uri === requested || !Array.isArray(result.resources)) return result;
  return { ...result, resources: prefixedItems(server.name, result.resources) };
}

/** A skill whose URIs identify its server. */
function prefixedSkill(server: string, skill: RpcObject): RpcObject {
  const { resources } = skill;
  const own = Array.isArray(resources) ? { resources: prefixedItems(server, resources) } : {};
  return { ...skill, uri: prefixedUri(server, String(skill.uri)), ...own };
}

/** Items whose URIs identify their server. */
function prefixedItems(server: string, items: readonly unknown[]): unknown[] {
  return items.map((item) =>
    isObject(item) && typeof item.uri === "string" ? { ...item, uri: prefixedUri(server, item.uri) } : item,
  );
}
