import { isObject, type RpcObject } from "@wirescope/tool-server/internal";
import type { ClientCall } from "../client-call.js";
import { prefixedItem, prefixedSkill } from "./prefixed-uri.js";
import { type ResourceRoutes, uriOf } from "./resources.js";

/** The skills of all servers that responded in time, each with a URI that identifies its server. */
export async function listSkills(routes: ResourceRoutes): Promise<RpcObject> {
  return { skills: await routes.listSkills(), ttlMs: 0, cacheScope: "private" };
}

/** Gets a skill, listed or not, from the server that has it. */
export async function getSkill(routes: ResourceRoutes, call: ClientCall): Promise<RpcObject> {
  const requested = uriOf(call);
  const { server, uri } = await routes.find(requested);
  call.setRoute(server.name, uri);
  const result = await server.forward(call, { method: "skills/get", params: { ...call.params, uri } });
  if (uri === requested || !isObject(result.skill)) return result;
  return { ...result, skill: prefixedSkill(server.name, result.skill) };
}

/** Lists a directory of a skill. */
export async function readDirectory(routes: ResourceRoutes, call: ClientCall): Promise<RpcObject> {
  const requested = uriOf(call);
  const { server, uri } = await routes.find(requested);
  call.setRoute(server.name, uri);
  const result = await server.forward(call, { method: "resources/directory/read", params: { ...call.params, uri } });
  if (uri === requested || !Array.isArray(result.resources)) return result;
  return { ...result, resources: result.resources.map((item: unknown) => prefixedItem(server.name, item)) };
}
