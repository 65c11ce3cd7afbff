import { isObject, type JsonObject, quoted, RpcError, rpcCodes } from "@wirescope/tool-server/internal";
import { parsePrefixedUri, prefixedUri, templateFit } from "../catalogue/resource-uri.js";
import type { WatchedResource } from "../client-call.js";
import type { Upstream } from "../servers/upstream.js";

/** A resource, by the server that has it and the uri that the server knows it by. */
export interface ResourceRoute {
  readonly upstream: Upstream;
  readonly uri: string;
}

/** The resource for a client that watches it. */
export function watchedResource({ upstream: { name, subscriptions }, uri }: ResourceRoute): WatchedResource {
  return {
    server: name,
    uri,
    subscribe: () => subscriptions.subscribe(uri),
    unsubscribe: () => subscriptions.unsubscribe(uri),
  };
}

/** Finds the server that has a resource. */
export interface ResourceRoutes {
  /** Rejects with an RpcError where no server has it. */
  find(uri: string): Promise<ResourceRoute>;
  /** Notes which server spoke of resources, in what a tool or prompt gave: they may stand in no list. */
  learn(upstream: Upstream, content: unknown): void;
  /** The resources of all servers, each by a uri that leads back to its server. */
  list(): Promise<readonly JsonObject[]>;
  listTemplates(): Promise<readonly JsonObject[]>;
}

const mostLearnt = 10_000;
/** The longest uri that is kept after a request is over, in characters. */
export const longestUri = 8192;

export function createResourceRoutes(upstreams: () => readonly Upstream[]): ResourceRoutes {
  /** The servers that spoke of a uri, the latest last. */
  const learnt = new Map<string, string>();

  const lookUp = (uri: string): Upstream | undefined => {
    const all = upstreams();
    const listed = all.find(({ resources }) => resources.known?.some((resource) => resource.uri === uri));
    if (listed !== undefined) return listed;
    const speaker = learnt.get(uri);
    return all.find(({ name }) => name === speaker) ?? bestFit(all, uri);
  };

  const spread = (
    lists: readonly (readonly JsonObject[] | undefined)[],
    all: readonly Upstream[],
    field: "uri" | "uriTemplate",
  ): JsonObject[] => {
    const counts = new Map<unknown, number>();
    // One that a server lists twice is one.
    const distinct = lists.map((list) => [...new Map(list?.map((item) => [item[field], item])).values()]);
    for (const item of distinct.flat()) counts.set(item[field], (counts.get(item[field]) ?? 0) + 1);
    return distinct.flatMap((list, index) =>
      list.map((item) => {
        const uri = String(item[field]);
        const server = all[index]?.name ?? "";
        return (counts.get(item[field]) ?? 0) > 1 ? { ...item, [field]: prefixedUri(server, uri) } : item;
      }),
    );
  };

  return {
    async find(text) {
      const prefixed = parsePrefixedUri(text);
      const named = prefixed && upstreams().find(({ name }) => name === prefixed.server);
      if (prefixed !== undefined && named !== undefined) return { upstream: named, uri: prefixed.uri };
      const known = lookUp(text);
      if (known !== undefined) return { upstream: known, uri: text };
      const all = upstreams();
      await Promise.all(all.flatMap(({ resources, templates }) => [resources.get(), templates.get()]));
      const late = lookUp(text);
      if (late !== undefined) return { upstream: late, uri: text };
      const able = all.filter(({ description }) => description?.capabilities.resources !== undefined);
      const [only] = able;
      // It may have more than it lists.
      if (only !== undefined && able.length === 1) return { upstream: only, uri: text };
      throw new RpcError(rpcCodes.invalidParams, `No server has the resource ${quoted(text)}.`, {
        data: { uri: text },
      });
    },
    learn({ name }, content) {
      if (!Array.isArray(content)) return;
      for (const block of content) {
        if (!isObject(block) || (block.type !== "resource_link" && block.type !== "resource")) continue;
        const uri = isObject(block.resource) ? block.resource.uri : block.uri;
        if (typeof uri !== "string" || uri.length > longestUri) continue;
        learnt.delete(uri);
        learnt.set(uri, name);
        const [oldest] = learnt.keys();
        if (learnt.size > mostLearnt && oldest !== undefined) learnt.delete(oldest);
      }
    },
    async list() {
      const all = upstreams();
      return spread(await Promise.all(all.map(({ resources }) => resources.get())), all, "uri");
    },
    async listTemplates() {
      const all = upstreams();
      return spread(await Promise.all(all.map(({ templates }) => templates.get())), all, "uriTemplate");
    },
  };
}

/** The server with the template that fits a uri best; the template itself fits too, for completions name it. */
function bestFit(all: readonly Upstream[], uri: string): Upstream | undefined {
  let best: Upstream | undefined;
  let bestScore = -1;
  for (const upstream of all) {
    for (const { uriTemplate } of upstream.templates.known ?? []) {
      const template = String(uriTemplate);
      const score = template === uri ? Number.POSITIVE_INFINITY : (templateFit(template, uri) ?? -1);
      if (score <= bestScore) continue;
      best = upstream;
      bestScore = score;
    }
  }
  return best;
}
