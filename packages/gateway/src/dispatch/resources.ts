import { isObject, quoted, RpcError, type RpcObject, rpcCodes } from "@wirescope/tool-server/internal";
import type { ClientCall, WatchedResource } from "../client-call.js";
import type { GatewayServer } from "../servers/server.js";
import { loadLists } from "./find-offered.js";
import { showsOrigins, withOrigin } from "./origins.js";
import { parsePrefixedUri, prefixedUri } from "./prefixed-uri.js";
import { createResourceOwners, mapLinks } from "./resource-owners.js";

export async function readResource(routes: ResourceRoutes, call: ClientCall): Promise<RpcObject> {
  const { requested, uri, result } = await forwardByUri(routes, call);
  if (uri === requested || !Array.isArray(result.contents)) return result;
  const contents = result.contents.map((part: unknown) =>
    isObject(part) && part.uri === uri ? { ...part, uri: requested } : part,
  );
  return { ...result, contents };
}

/** Forwards a call to the server that has the resource in its `uri`. */
export async function forwardByUri(
  routes: ResourceRoutes,
  call: ClientCall,
): Promise<ResourceRoute & { readonly requested: string; readonly result: RpcObject }> {
  const requested = uriOf(call);
  const { server, uri } = await routes.find(requested);
  call.setRoute(server.name, uri);
  const result = await server.forward(call, { method: call.method, params: { ...call.params, uri } });
  return { requested, server, uri, result };
}

/** Subscribes a session to a resource. */
export async function subscribeResource(routes: ResourceRoutes, call: ClientCall): Promise<RpcObject> {
  const requested = uriOf(call);
  const route = await routes.find(requested);
  call.setRoute(route.server.name, route.uri);
  await call.session?.watch(requested, watchedResource(route));
  return {};
}

export async function unsubscribeResource(call: ClientCall): Promise<RpcObject> {
  call.session?.unwatch(uriOf(call));
  return {};
}

/** The `uri` parameter of a request. Throws an RpcError if it is missing. */
function uriOf({ method, params: { uri } }: ClientCall): string {
  if (typeof uri === "string") return uri;
  throw new RpcError(rpcCodes.invalidParams, `${method} requires a string \`uri\`.`);
}

/** The server that has a resource, and the server's own URI for it. */
export interface ResourceRoute {
  readonly server: GatewayServer;
  readonly uri: string;
}

/** The resource for a client that subscribes to it, without its server, which a reload may replace or remove meanwhile. */
export function watchedResource({ server: { name, subscriptions }, uri }: ResourceRoute): WatchedResource {
  return {
    server: name,
    uri,
    subscribe: () => subscriptions.subscribe(uri),
    unsubscribe: () => subscriptions.unsubscribe(uri),
  };
}

export interface ResourceRoutes {
  /** Rejects with an RpcError if no server has it, or if several may have it. */
  find(uri: string): Promise<ResourceRoute>;
  /**
   * The content of a result, with links that identify the server if another may have the same resource. Remembers the server of all
   * other links, because they may be in no list.
   */
  rewriteLinks(server: GatewayServer, content: readonly unknown[]): readonly unknown[];
  /** The resources or templates of all servers, each with a URI that identifies its server. */
  list(kind: "resources" | "templates", call: Pick<ClientCall, "capabilities">): Promise<readonly RpcObject[]>;
  /** The URI of an app or a skill for clients: it identifies the server if another has the same URI. */
  uriFor(server: GatewayServer, uri: string): string;
}

const maxLearned = 10_000;
/** The maximum length of a URI, in characters: it is kept, logged and redacted. */
export const maxUriLength = 8192;

export function createResourceRoutes(servers: () => readonly GatewayServer[]): ResourceRoutes {
  /** The first server whose results linked to a URI. */
  const learned = new Map<string, string>();
  const owners = createResourceOwners(servers);

  const lookUp = (uri: string): GatewayServer | undefined => {
    const found = owners.of(uri);
    if (found.length > 1) throw ambiguousUri(uri, found);
    const source = learned.get(uri);
    return found[0] ?? servers().find(({ name }) => name === source);
  };

  const list: ResourceRoutes["list"] = async (kind, { capabilities }) => {
    const all = servers();
    await loadOwners(all);
    const field = kind === "resources" ? "uri" : "uriTemplate";
    const showsOrigin = showsOrigins(capabilities);
    return (await loadLists(all, kind)).flatMap(({ server, items }) =>
      // A duplicate within one server is listed once.
      [...new Map(items.map((item) => [item[field], item])).values()].map((item) => {
        const uri = String(item[field]);
        const shown = field === "uri" ? owners.uriFor(server, uri) : owners.templateFor(server, uri);
        const own = shown === uri ? item : { ...item, [field]: shown };
        return showsOrigin ? withOrigin(own, server.name, uri) : own;
      }),
    );
  };

  const routes: ResourceRoutes = {
    async find(text) {
      if (text.length > maxUriLength) {
        throw new RpcError(rpcCodes.invalidParams, `A URI can have at most ${maxUriLength} characters.`);
      }
      const prefixed = parsePrefixedUri(text);
      const named = prefixed && servers().find(({ name }) => name === prefixed.server);
      if (prefixed !== undefined && named !== undefined) return { server: named, uri: prefixed.uri };
      const all = servers();
      // A server whose lists are not loaded yet may have it too.
      const known = all.some(isUnlisted) ? undefined : lookUp(text);
      if (known !== undefined) return { server: known, uri: text };
      await loadOwners(all);
      // A reload may have replaced some of them meanwhile.
      if (servers() !== all) return routes.find(text);
      const late = lookUp(text);
      if (late !== undefined) return { server: late, uri: text };
      const able = all.filter((server) => server.describe()?.capabilities.resources !== undefined);
      const [only] = able;
      // A server may have resources that it does not list.
      if (only !== undefined && able.length === 1) return { server: only, uri: text };
      throw unknownUri(text, all, able);
    },
    rewriteLinks(server, content) {
      return mapLinks(content, (uri) => {
        if (uri.length > maxUriLength) return uri;
        const first = learned.get(uri);
        const belongsToOther = first !== server.name && servers().some(({ name }) => name === first);
        if (belongsToOther || owners.isShared(server, uri)) return prefixedUri(server.name, uri);
        learned.delete(uri);
        learned.set(uri, server.name);
        const [oldest] = learned.keys();
        if (learned.size > maxLearned && oldest !== undefined) learned.delete(oldest);
        return uri;
      });
    },
    list,
    uriFor: owners.uriFor,
  };
  return routes;
}

/** Whether a server has resources, but its lists are not loaded yet. */
function isUnlisted(server: GatewayServer): boolean {
  if (server.describe()?.capabilities.resources === undefined) return false;
  return server.resources.cached === undefined || server.templates.cached === undefined;
}

/** Loads the lists that are used to find the server of a resource, as far as the servers respond in time. */
async function loadOwners(servers: readonly GatewayServer[]): Promise<void> {
  await Promise.all(
    servers.flatMap(({ resources, templates, skills }) => [resources.get(), templates.get(), skills.get()]),
  );
}

function ambiguousUri(uri: string, found: readonly GatewayServer[]): RpcError {
  const uris = prefixedUris(uri, found);
  const message = `Several servers may have the resource ${quoted(uri)}. Use a URI that identifies its server: ${uris.join(" or ")}.`;
  return new RpcError(rpcCodes.invalidParams, message, { data: { uri, uris } });
}

/** `able` are the connected servers that have resources. */
function unknownUri(uri: string, all: readonly GatewayServer[], able: readonly GatewayServer[]): RpcError {
  const absent = all.filter((server) => server.describe() === undefined).map(({ name }) => quoted(name));
  const uris = prefixedUris(uri, able);
  const parts = [
    `No server lists the resource ${quoted(uri)}.`,
    absent.length === 0 ? [] : `These servers are not connected, and may have it: ${absent.slice(0, 5).join(", ")}.`,
    uris.length === 0
      ? []
      : `If a server has it without listing it, use a URI that identifies the server: ${uris.join(" or ")}.`,
  ];
  return new RpcError(rpcCodes.resourceNotFound, parts.flat().join(" "), {
    data: uris.length === 0 ? { uri } : { uri, uris },
  });
}

/** The URI at each of the first servers. */
function prefixedUris(uri: string, servers: readonly GatewayServer[]): string[] {
  return servers.slice(0, 5).map(({ name }) => prefixedUri(name, uri));
}
