import { isObject, type JsonObject, RpcError, rpcCodes } from "@wirescope/tool-server/internal";
import type { ClientCall } from "../client-call.js";
import { longestUri, type ResourceRoutes, watchedResource } from "./resource-routes.js";

/** Reads a resource of whichever server has it. */
export async function readResource(routes: ResourceRoutes, call: ClientCall): Promise<JsonObject> {
  const { params } = call;
  const asked = uriOf(params);
  const { upstream, uri } = await routes.find(asked);
  call.setRoute(upstream.name, uri);
  const result = await upstream.forward(call, { method: "resources/read", params: { ...params, uri } });
  if (uri === asked || !Array.isArray(result.contents)) return result;
  const contents = result.contents.map((part: unknown) =>
    isObject(part) && part.uri === uri ? { ...part, uri: asked } : part,
  );
  return { ...result, contents };
}

/** Begins to tell a session when a resource changes. */
export async function subscribeResource(routes: ResourceRoutes, call: ClientCall): Promise<JsonObject> {
  const asked = uriOf(call.params);
  if (asked.length > longestUri) {
    throw new RpcError(rpcCodes.invalidParams, `A resource is watched by a uri of at most ${longestUri} characters.`);
  }
  const route = await routes.find(asked);
  call.setRoute(route.upstream.name, route.uri);
  await call.session?.watch(asked, watchedResource(route));
  return {};
}

export async function unsubscribeResource(call: ClientCall): Promise<JsonObject> {
  call.session?.unwatch(uriOf(call.params));
  return {};
}

function uriOf({ uri }: JsonObject): string {
  if (typeof uri === "string") return uri;
  throw new RpcError(rpcCodes.invalidParams, "The URI of the resource is missing, or not a string.");
}
