import { isObject, type JsonObject, RpcError, rpcCodes } from "@wirescope/tool-server/rpc";
import type { Caller } from "../clients/caller.js";
import { longestUri, type ResourceRoutes } from "./resource-routes.js";

/** Reads a resource of whichever server has it. */
export async function readResource(routes: ResourceRoutes, params: JsonObject, caller: Caller): Promise<JsonObject> {
  const asked = uriOf(params);
  const { upstream, uri } = await routes.find(asked);
  caller.story.name = uri;
  const result = await upstream.call({ method: "resources/read", params: { ...params, uri } }, caller);
  if (uri === asked || !Array.isArray(result.contents)) return result;
  const contents = result.contents.map((part: unknown) =>
    isObject(part) && part.uri === uri ? { ...part, uri: asked } : part,
  );
  return { ...result, contents };
}

/** Begins to tell a session when a resource changes. */
export async function subscribeResource(
  routes: ResourceRoutes,
  params: JsonObject,
  caller: Caller,
): Promise<JsonObject> {
  const asked = uriOf(params);
  if (asked.length > longestUri) {
    throw new RpcError(rpcCodes.invalidParams, `A resource is watched by a uri of at most ${longestUri} characters.`);
  }
  const route = await routes.find(asked);
  caller.story.name = route.uri;
  await caller.session?.watch(asked, route);
  return {};
}

export async function unsubscribeResource(params: JsonObject, caller: Caller): Promise<JsonObject> {
  caller.session?.unwatch(uriOf(params));
  return {};
}

function uriOf({ uri }: JsonObject): string {
  if (typeof uri === "string") return uri;
  throw new RpcError(rpcCodes.invalidParams, "The uri of the resource is needed, as a text.");
}
