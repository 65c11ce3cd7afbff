import { isObject, type RpcObject } from "@wirescope/tool-server/internal";
import type { ClientCall } from "../client-call.js";
import type { GatewayServer } from "../servers/server.js";
import { findKnown } from "./find-offered.js";
import type { ResourceRoutes } from "./resources.js";

/** The server that handles a method that the gateway does not know, and the parameters for it. */
interface MethodRoute {
  readonly server: GatewayServer;
  readonly params: RpcObject;
  /** Of its subject at the server. */
  readonly name: string | undefined;
}

/** Whether a server declares extensions: only then it may have methods that the gateway does not know. */
export function declaresExtensions({ description }: GatewayServer): boolean {
  const { extensions } = (description?.capabilities ?? {}) as RpcObject;
  return isObject(extensions) && Object.keys(extensions).length > 0;
}

/**
 * Finds the server for a method of an extension: by the tool, prompt or resource that it names, else the only server that declares
 * extensions. Undefined if it is not known.
 */
export async function findMethodRoute(
  servers: readonly GatewayServer[],
  routes: ResourceRoutes,
  { params }: ClientCall,
): Promise<MethodRoute | undefined> {
  const able = servers.filter(declaresExtensions);
  if (able.length === 0) return undefined;
  const { name, uri } = params;
  if (typeof name === "string") {
    const found = findKnown(able, "tools", name) ?? findKnown(able, "prompts", name);
    if (found !== undefined) {
      const { original } = found.item;
      return { server: found.server, params: { ...params, name: original }, name: original };
    }
  }
  const [only] = able;
  if (only !== undefined && able.length === 1) return { server: only, params, name: undefined };
  if (typeof uri !== "string") return undefined;
  const route = await routes.find(uri).catch(() => undefined);
  if (route === undefined || !able.includes(route.server)) return undefined;
  return { server: route.server, params: { ...params, uri: route.uri }, name: route.uri };
}
