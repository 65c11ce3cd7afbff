import type { RpcNotification, RpcObject } from "@wirescope/tool-server/internal";
import type { ClientCall } from "../client-call.js";
import { extensionParams, hasExtensions, shareExtension } from "../extension-messages.js";
import type { GatewayServer } from "../servers/server.js";
import { findCached } from "./find-offered.js";
import type { ResourceRoutes } from "./resources.js";

/** The server that handles a method that the gateway does not know, and the parameters for it. */
interface MethodRoute {
  readonly server: GatewayServer;
  readonly params: RpcObject;
  /** The server's own name of the tool, prompt or resource. */
  readonly name: string | undefined;
}

/** Whether a server declares extensions: only then can it have methods that the gateway does not know. */
export function declaresExtensions(server: GatewayServer): boolean {
  return hasExtensions(capabilitiesOf(server));
}

function capabilitiesOf(server: GatewayServer): RpcObject {
  return (server.describe()?.capabilities ?? {}) as RpcObject;
}

/**
 * Finds the server for an extension method: by the tool, prompt or resource that it names, else the only server that declares
 * extensions. Undefined if there is no such server.
 */
export async function findMethodRoute(
  servers: readonly GatewayServer[],
  routes: ResourceRoutes,
  { params }: Pick<ClientCall, "params">,
): Promise<MethodRoute | undefined> {
  const able = servers.filter(declaresExtensions);
  const [only] = able;
  const named = findNamed(able, params);
  if (named !== undefined) return named;
  if (only !== undefined && able.length === 1) return { server: only, params, name: undefined };
  return findResource(able, routes, params);
}

/**
 * Forwards an extension notification: to the server whose tool, prompt or resource it names, else to all servers that declare an
 * extension that the client declares. If its capabilities are not known, to the only server that declares extensions.
 */
export async function forwardNotification(
  servers: readonly GatewayServer[],
  routes: ResourceRoutes,
  { method, params = {} }: RpcNotification,
  capabilities: RpcObject | undefined,
): Promise<void> {
  const able = servers.filter(declaresExtensions);
  const own = extensionParams(params);
  const route = findNamed(able, own) ?? (await findResource(able, routes, own));
  if (route !== undefined) {
    route.server.notify(method, route.params, capabilities);
    return;
  }
  const recipients =
    capabilities === undefined
      ? able.slice(0, able.length === 1 ? 1 : 0)
      : able.filter((server) => shareExtension(capabilities, capabilitiesOf(server)));
  for (const server of recipients) server.notify(method, own, capabilities);
}

/** The server that has the tool or prompt in a message. */
function findNamed(able: readonly GatewayServer[], params: RpcObject): MethodRoute | undefined {
  const { name } = params;
  const found =
    typeof name === "string" ? (findCached(able, "tools", name) ?? findCached(able, "prompts", name)) : undefined;
  if (found === undefined) return undefined;
  const { original } = found.item;
  return { server: found.server, params: { ...params, name: original }, name: original };
}

/** The server that has the resource in a message. */
async function findResource(
  able: readonly GatewayServer[],
  routes: ResourceRoutes,
  params: RpcObject,
): Promise<MethodRoute | undefined> {
  const { uri } = params;
  if (typeof uri !== "string" || able.length === 0) return undefined;
  const route = await routes.find(uri).catch(() => undefined);
  if (route === undefined || !declaresExtensions(route.server)) return undefined;
  return { server: route.server, params: { ...params, uri: route.uri }, name: route.uri };
}
