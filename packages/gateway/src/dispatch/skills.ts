import { isObject, type RpcObject } from "@wirescope/tool-server/internal";
import type { ClientCall } from "../client-call.js";
import { prefixedItem, prefixedSkill } from "./prefixed-uri.js";
import { forwardByUri, type ResourceRoutes } from "./resources.js";

/** The skills of all servers that responded in time, each with a URI that identifies its server. */
export async function listSkills(routes: ResourceRoutes): Promise<RpcObject> {
  return { skills: await routes.listSkills(), ttlMs: 0, cacheScope: "private" };
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
  return { ...result, resources: result.resources.map((item: unknown) => prefixedItem(server.name, item)) };
}
