import { isObject, quoted, RpcError, type RpcObject, rpcCodes } from "@wirescope/tool-server/internal";
import type { ClientCall, WatchedResource } from "../client-call.js";
import type { GatewayServer } from "../servers/server.js";
import { literalFit } from "../servers/tool-filter.js";
import { hasApp } from "./app-resources.js";
import { showsOrigins, withOrigin } from "./origins.js";
import { parsePrefixedUri, prefixedSkill, prefixedUri, skillFolder } from "./prefixed-uri.js";

/** Reads a resource from the server that has it. */
export async function readResource(routes: ResourceRoutes, call: ClientCall): Promise<RpcObject> {
  const { params } = call;
  const asked = uriOf(call);
  const { server, uri } = await routes.find(asked);
  call.setRoute(server.name, uri);
  const result = await server.forward(call, { method: "resources/read", params: { ...params, uri } });
  if (uri === asked || !Array.isArray(result.contents)) return result;
  const contents = result.contents.map((part: unknown) =>
    isObject(part) && part.uri === uri ? { ...part, uri: asked } : part,
  );
  return { ...result, contents };
}

/** Subscribes a session to a resource. */
export async function subscribeResource(routes: ResourceRoutes, call: ClientCall): Promise<RpcObject> {
  const asked = uriOf(call);
  const route = await routes.find(asked);
  call.setRoute(route.server.name, route.uri);
  await call.session?.watch(asked, watchedResource(route));
  return {};
}

export async function unsubscribeResource(call: ClientCall): Promise<RpcObject> {
  call.session?.unwatch(uriOf(call));
  return {};
}

/** The URI that a request names. Throws an RpcError if it names none. */
export function uriOf({ method, params: { uri } }: ClientCall): string {
  if (typeof uri === "string") return uri;
  throw new RpcError(rpcCodes.invalidParams, `${method} requires a string \`uri\`.`);
}

/** A resource: the server that has it, and the server's own URI for it. */
export interface ResourceRoute {
  readonly server: GatewayServer;
  readonly uri: string;
}

/** The resource for a client that subscribes to it. */
export function watchedResource({ server: { name, subscriptions }, uri }: ResourceRoute): WatchedResource {
  return {
    server: name,
    uri,
    subscribe: () => subscriptions.subscribe(uri),
    unsubscribe: () => subscriptions.unsubscribe(uri),
  };
}

/** Finds the server that has a resource. */
export interface ResourceRoutes {
  /** Rejects with an RpcError if no server has it. */
  find(uri: string): Promise<ResourceRoute>;
  /** Remembers which server mentioned resources in a result: they may be in no list. */
  learn(server: GatewayServer, content: unknown): void;
  /** The resources of all servers, each with a URI that identifies its server. */
  list(call: Pick<ClientCall, "capabilities">): Promise<readonly RpcObject[]>;
  listTemplates(call: Pick<ClientCall, "capabilities">): Promise<readonly RpcObject[]>;
  /** The skills of all servers, as `list` does. */
  listSkills(): Promise<readonly RpcObject[]>;
  /** The URI of the app of a tool of a server: it identifies the server if another has the same. */
  appUri(server: GatewayServer, uri: string): string;
}

const maxLearned = 10_000;
/** The maximum length of a URI, in characters: it is kept, logged and redacted. */
export const maxUriLength = 8192;

export function createResourceRoutes(servers: () => readonly GatewayServer[]): ResourceRoutes {
  /** The server that mentioned a URI, the latest last. */
  const learned = new Map<string, string>();

  const lookUp = (uri: string): GatewayServer | undefined => {
    const all = servers();
    const listed = all.find(({ resources }) => resources.known?.some((resource) => resource.uri === uri));
    if (listed !== undefined) return listed;
    const shown = all.find((server) => hasApp(server, uri));
    if (shown !== undefined) return shown;
    const source = learned.get(uri);
    return all.find(({ name }) => name === source) ?? skillOwner(all, uri) ?? bestFit(all, uri);
  };

  const distinguish = (
    lists: readonly (readonly RpcObject[] | undefined)[],
    all: readonly GatewayServer[],
    field: "uri" | "uriTemplate",
    { capabilities }: Pick<ClientCall, "capabilities">,
  ): RpcObject[] => {
    const showsOrigin = showsOrigins(capabilities);
    const counts = new Map<unknown, number>();
    // A duplicate within one server counts once.
    const distinct = lists.map((list) => [...new Map(list?.map((item) => [item[field], item])).values()]);
    for (const item of distinct.flat()) counts.set(item[field], (counts.get(item[field]) ?? 0) + 1);
    return distinct.flatMap((list, index) =>
      list.map((item) => {
        const uri = String(item[field]);
        const server = all[index]?.name ?? "";
        const own = (counts.get(item[field]) ?? 0) > 1 ? { ...item, [field]: prefixedUri(server, uri) } : item;
        return showsOrigin ? withOrigin(own, server, uri) : own;
      }),
    );
  };

  return {
    async find(text) {
      if (text.length > maxUriLength) {
        throw new RpcError(rpcCodes.invalidParams, `A URI can have at most ${maxUriLength} characters.`);
      }
      const prefixed = parsePrefixedUri(text);
      const named = prefixed && servers().find(({ name }) => name === prefixed.server);
      if (prefixed !== undefined && named !== undefined) return { server: named, uri: prefixed.uri };
      const known = lookUp(text);
      if (known !== undefined) return { server: known, uri: text };
      const all = servers();
      await Promise.all(
        all.flatMap(({ resources, templates, skills }) => [resources.get(), templates.get(), skills.get()]),
      );
      const late = lookUp(text);
      if (late !== undefined) return { server: late, uri: text };
      const able = all.filter(({ description }) => description?.capabilities.resources !== undefined);
      const [only] = able;
      // A server may have resources that it does not list.
      if (only !== undefined && able.length === 1) return { server: only, uri: text };
      throw new RpcError(rpcCodes.invalidParams, `No server has the resource ${quoted(text)}.`, {
        data: { uri: text },
      });
    },
    learn({ name }, content) {
      if (!Array.isArray(content)) return;
      for (const block of content) {
        if (!isObject(block) || (block.type !== "resource_link" && block.type !== "resource")) continue;
        const uri = isObject(block.resource) ? block.resource.uri : block.uri;
        if (typeof uri !== "string" || uri.length > maxUriLength) continue;
        learned.delete(uri);
        learned.set(uri, name);
        const [oldest] = learned.keys();
        if (learned.size > maxLearned && oldest !== undefined) learned.delete(oldest);
      }
    },
    async list(call) {
      const all = servers();
      return distinguish(await Promise.all(all.map(({ resources }) => resources.get())), all, "uri", call);
    },
    async listSkills() {
      const all = servers();
      const lists = await Promise.all(all.map(({ skills }) => skills.get()));
      const owners = ownersOf(lists.map((list) => list?.map(({ uri }) => uri)));
      return lists.flatMap((list, index) =>
        (list ?? []).map((skill) =>
          (owners.get(skill.uri) ?? 0) > 1 ? prefixedSkill(all[index]?.name ?? "", skill) : skill,
        ),
      );
    },
    appUri(server, uri) {
      const isShared = servers().some(
        (other) =>
          other !== server && (hasApp(other, uri) || other.resources.known?.some((resource) => resource.uri === uri)),
      );
      return isShared ? prefixedUri(server.name, uri) : uri;
    },
    async listTemplates(call) {
      const all = servers();
      return distinguish(await Promise.all(all.map(({ templates }) => templates.get())), all, "uriTemplate", call);
    },
  };
}

/** The server with the template that fits a URI best. A template also fits itself, because completions name it. */
function bestFit(all: readonly GatewayServer[], uri: string): GatewayServer | undefined {
  let best: GatewayServer | undefined;
  let bestScore = -1;
  for (const server of all) {
    for (const { uriTemplate } of server.templates.known ?? []) {
      const template = String(uriTemplate);
      const score = template === uri ? Number.POSITIVE_INFINITY : (templateFit(template, uri) ?? -1);
      if (score <= bestScore) continue;
      best = server;
      bestScore = score;
    }
  }
  return best;
}

/** The server with the skill that a URI names, or else the one with the innermost folder of a skill around it. */
function skillOwner(all: readonly GatewayServer[], uri: string): GatewayServer | undefined {
  let [owner, longest]: [GatewayServer | undefined, number] = [undefined, 0];
  for (const server of all) {
    for (const skill of server.skills.known ?? []) {
      if (skill.uri === uri) return server;
      const folder = skillFolder(skill);
      if (folder.length <= longest || !uri.startsWith(folder)) continue;
      [owner, longest] = [server, folder.length];
    }
  }
  return owner;
}

/** How many lists contain each value. */
function ownersOf(lists: readonly (readonly unknown[] | undefined)[]): ReadonlyMap<unknown, number> {
  const counts = new Map<unknown, number>();
  for (const value of lists.flatMap((list) => [...new Set(list)])) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

/** How well a URI fits a template (RFC 6570): the number of literal characters; undefined if it does not fit. */
export function templateFit(template: string, uri: string): number | undefined {
  return literalFit(template.split(/\{[^{}]*\}/), uri);
}
