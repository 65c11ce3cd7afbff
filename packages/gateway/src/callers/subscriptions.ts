import {
  faultOf,
  isObject,
  metaKeys,
  metaOf,
  RpcError,
  type RpcObject,
  type RpcRequest,
  rpcCodes,
} from "@wirescope/tool-server/internal";
import type { MergedServer } from "../dispatch/merged-server.js";
import { maxUriLength, type ResourceRoute } from "../dispatch/resources.js";
import type { ChangingList, GatewayEvents } from "../events.js";
import { declaresTasks, tasksMissing } from "../task-states.js";
import type { Outlet } from "./outlet.js";

/** Subscriptions of modern clients, each a request that gets its response when it ends. */
export interface ClientSubscriptions {
  readonly size: number;
  /** Starts a subscription. Returns how to end it when the client disconnects. */
  begin(request: RpcRequest, outlet: Outlet): () => void;
  /** Ends all, with a response to each client. */
  close(): void;
}

export interface ClientSubscriptionsOptions {
  readonly merged: MergedServer;
  readonly events: Pick<GatewayEvents, "subscribe">;
  /** The maximum number of subscriptions. */
  readonly max: number;
  readonly onDefect: (error: unknown) => void;
}

const listFields: Readonly<Record<ChangingList, string>> = {
  tools: "toolsListChanged",
  prompts: "promptsListChanged",
  resources: "resourcesListChanged",
};

/** Resources of one subscription. */
const maxResources = 1000;

export function createClientSubscriptions({
  merged,
  events,
  max,
  onDefect,
}: ClientSubscriptionsOptions): ClientSubscriptions {
  const open = new Set<(isGraceful: boolean) => void>();

  const assertRoom = (): void => {
    if (open.size >= max) throw new RpcError(rpcCodes.internalError, "Subscription limit reached. Try again later.");
  };

  const listen = async (
    request: RpcRequest,
    outlet: Outlet,
    isGone: () => boolean,
  ): Promise<(() => void) | undefined> => {
    const { id } = request;
    assertRoom();
    const filter = readFilter(request.params);
    const watched = await findAll(merged, filter.uris);
    if (isGone()) return undefined;
    // Others may have started meanwhile.
    assertRoom();
    const notify = (method: string, params: RpcObject = {}): void => {
      const _meta = { ...(isObject(params._meta) ? params._meta : {}), [metaKeys.subscriptionId]: id };
      if (outlet.isOpen) outlet.send({ jsonrpc: "2.0", method, params: { ...params, _meta } });
    };
    const honored = {
      ...Object.fromEntries([...filter.lists].map((list) => [listFields[list], true])),
      ...(watched.size === 0 ? {} : { resourceSubscriptions: [...watched.keys()] }),
    };
    notify("notifications/subscriptions/acknowledged", { notifications: honored });
    const unsubscribe = events.subscribe({
      "list-changed"({ list }) {
        if (filter.lists.has(list)) notify(`notifications/${list}/list_changed`);
      },
      "resource-updated"(updated) {
        for (const [uri, route] of watched) {
          if (route.uri === updated.uri && route.server.name === updated.server)
            notify("notifications/resources/updated", { uri });
        }
      },
    });
    const subscribed = [...watched.values()].map((route) => ({
      ...route,
      isSubscribed: route.server.subscriptions.subscribe(route.uri).then(
        () => true,
        () => false,
      ),
    }));
    const end = (isGraceful: boolean): void => {
      if (!open.delete(end)) return;
      unsubscribe();
      for (const { server, uri, isSubscribed } of subscribed) {
        // A refused subscription is already released; releasing it twice would drop another client's.
        void isSubscribed.then((is) => is && server.subscriptions.unsubscribe(uri));
      }
      if (!isGraceful) return;
      const _meta = { [metaKeys.subscriptionId]: id, [metaKeys.serverInfo]: merged.info };
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
        const known = error instanceof RpcError ? error : new RpcError(rpcCodes.internalError, "Internal error.");
        outlet.respond({ jsonrpc: "2.0", id: request.id, error: faultOf(known) }, known.status);
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

function readFilter(params: RpcObject | undefined): {
  readonly lists: ReadonlySet<ChangingList>;
  readonly uris: readonly string[];
} {
  const filter = params?.notifications;
  const uris = isObject(filter) ? (filter.resourceSubscriptions ?? []) : undefined;
  if (!isObject(filter) || !Array.isArray(uris) || !uris.every((uri) => typeof uri === "string")) {
    throw new RpcError(
      rpcCodes.invalidParams,
      "subscriptions/listen requires an object `notifications`, and an array of strings if it has `resourceSubscriptions`.",
    );
  }
  if (uris.length > maxResources || uris.some((uri) => uri.length > maxUriLength)) {
    const message = `A subscription can have at most ${maxResources} resources, with URIs of at most ${maxUriLength} characters.`;
    throw new RpcError(rpcCodes.invalidParams, message);
  }
  // The gateway acknowledges no tasks, but the protocol requires the capability first.
  const capabilities = metaOf(params)?.[metaKeys.clientCapabilities];
  if (filter.taskIds !== undefined && !declaresTasks(isObject(capabilities) ? capabilities : {})) throw tasksMissing();
  const lists = (Object.keys(listFields) as ChangingList[]).filter((list) => filter[listFields[list]] === true);
  return { lists: new Set(lists), uris };
}

/** The routes of resources; those that no server has are omitted. */
async function findAll(merged: MergedServer, uris: readonly string[]): Promise<ReadonlyMap<string, ResourceRoute>> {
  const routes = await Promise.all(
    uris.map(async (uri) => {
      const route = await merged.routes.find(uri).catch(() => undefined);
      return route === undefined ? [] : [[uri, route] as const];
    }),
  );
  return new Map(routes.flat());
}
