import {
  isObject,
  type JsonObject,
  metaKeys,
  RpcError,
  type RpcRequest,
  rpcCodes,
} from "@wirescope/tool-server/internal";
import type { Hub } from "../dispatch/hub.js";
import { longestUri, type ResourceRoute } from "../dispatch/resource-routes.js";
import type { NoticedList, Notices } from "../notices.js";
import type { Outlet } from "./outlet.js";

/** Clients of the newer era that listen for changes, each on a request that is not answered until it ends. */
export interface ClientSubscriptions {
  readonly size: number;
  /** Begins to tell a client what it asks for. Returns how to end that where the client is gone. */
  begin(request: RpcRequest, outlet: Outlet): () => void;
  /** Ends all in good order. */
  close(): void;
}

export interface ClientSubscriptionsOptions {
  readonly hub: Hub;
  readonly notices: Notices;
  readonly most: number;
  readonly onDefect: (error: unknown) => void;
}

const listFields: Readonly<Record<NoticedList, string>> = {
  tools: "toolsListChanged",
  prompts: "promptsListChanged",
  resources: "resourcesListChanged",
};

const mostResources = 1000;

export function createClientSubscriptions({
  hub,
  notices,
  most,
  onDefect,
}: ClientSubscriptionsOptions): ClientSubscriptions {
  const open = new Set<(isGraceful: boolean) => void>();

  const assertRoom = (): void => {
    if (open.size >= most) throw new RpcError(rpcCodes.internalError, "Too many clients listen. Try again later.");
  };

  const listen = async (
    request: RpcRequest,
    outlet: Outlet,
    isGone: () => boolean,
  ): Promise<(() => void) | undefined> => {
    const { id } = request;
    assertRoom();
    const filter = readFilter(request.params);
    const watched = await findAll(hub, filter.uris);
    if (isGone()) return undefined;
    // Others may have begun meanwhile.
    assertRoom();
    const tell = (method: string, params: JsonObject = {}): void => {
      const _meta = { ...(isObject(params._meta) ? params._meta : {}), [metaKeys.subscriptionId]: id };
      if (outlet.isOpen) outlet.send({ jsonrpc: "2.0", method, params: { ...params, _meta } });
    };
    const honored = {
      ...Object.fromEntries([...filter.lists].map((list) => [listFields[list], true])),
      ...(watched.size === 0 ? {} : { resourceSubscriptions: [...watched.keys()] }),
    };
    tell("notifications/subscriptions/acknowledged", { notifications: honored });
    const unsubscribe = notices.subscribe({
      onListChanged(list) {
        if (filter.lists.has(list)) tell(`notifications/${list}/list_changed`);
      },
      onResourceUpdated(server, changed) {
        for (const [uri, route] of watched) {
          if (route.uri === changed && route.upstream.name === server) tell("notifications/resources/updated", { uri });
        }
      },
    });
    const subscribed = [...watched.values()].map((route) => ({
      ...route,
      isSubscribed: route.upstream.subscriptions.subscribe(route.uri).then(
        () => true,
        () => false,
      ),
    }));
    const end = (isGraceful: boolean): void => {
      if (!open.delete(end)) return;
      unsubscribe();
      for (const { upstream, uri, isSubscribed } of subscribed) {
        // A subscription that was refused has ended already: to end it again would take it from another client.
        void isSubscribed.then((is) => is && upstream.subscriptions.unsubscribe(uri));
      }
      if (!isGraceful) return;
      const _meta = { [metaKeys.subscriptionId]: id, [metaKeys.serverInfo]: hub.info };
      outlet.respond({ jsonrpc: "2.0", id, result: { resultType: "complete", _meta } }, 200);
    };
    open.add(end);
    if (Object.keys(honored).length === 0) end(true);
    return () => end(false);
  };

  return {
    get size() {
      return open.size;
    },
    begin(request, outlet) {
      let isGone = false;
      let end: (() => void) | undefined;
      const refuse = (error: unknown): void => {
        const { code, message } =
          error instanceof RpcError ? error : { code: rpcCodes.internalError, message: "Internal error." };
        outlet.respond({ jsonrpc: "2.0", id: request.id, error: { code, message } }, 200);
      };
      listen(request, outlet, () => isGone)
        .then((stop) => {
          end = stop;
          if (isGone) stop?.();
        }, refuse)
        .catch(onDefect);
      return () => {
        isGone = true;
        end?.();
      };
    },
    close() {
      for (const end of [...open]) end(true);
    },
  };
}

function readFilter(params: JsonObject | undefined): {
  readonly lists: ReadonlySet<NoticedList>;
  readonly uris: readonly string[];
} {
  const filter = params?.notifications;
  const uris = isObject(filter) ? (filter.resourceSubscriptions ?? []) : undefined;
  if (!isObject(filter) || !Array.isArray(uris) || !uris.every((uri) => typeof uri === "string")) {
    throw new RpcError(
      rpcCodes.invalidParams,
      "subscriptions/listen needs notifications: an object that says what to tell of.",
    );
  }
  if (uris.length > mostResources || uris.some((uri) => uri.length > longestUri)) {
    const message = `At most ${mostResources} resources can be listened for at once, by uris of at most ${longestUri} characters.`;
    throw new RpcError(rpcCodes.invalidParams, message);
  }
  const lists = (Object.keys(listFields) as NoticedList[]).filter((list) => filter[listFields[list]] === true);
  return { lists: new Set(lists), uris };
}

/** The servers of resources; what no server has is left out. */
async function findAll(hub: Hub, uris: readonly string[]): Promise<ReadonlyMap<string, ResourceRoute>> {
  const routes = await Promise.all(
    uris.map(async (uri) => {
      const route = await hub.routes.find(uri).catch(() => undefined);
      return route === undefined ? [] : [[uri, route] as const];
    }),
  );
  return new Map(routes.flat());
}
