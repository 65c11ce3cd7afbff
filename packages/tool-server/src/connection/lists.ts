import { type Client, type ClientOptions, ProtocolError } from "@modelcontextprotocol/client";
import { createBackOff } from "../back-off.js";
import type { Clock } from "../clock.js";
import type { ToolServerError } from "../errors.js";
import { ownFailure } from "./call-failure.js";
import type { ChangedList, Connection } from "./connection.js";
import { isFinalRefusal } from "./rpc/json-rpc.js";

type Lists = Pick<Connection, "listTools" | "listResources" | "listResourceTemplates" | "listPrompts">;

/**
 * The list methods. If the server does not declare a capability, its list is empty and no request is sent. The SDK would do the same,
 * but log it to standard output.
 */
export function listMethods(call: Connection["call"]): Lists {
  return {
    listTools: (options) =>
      call(
        "tools/list",
        async (client, request) =>
          client.getServerCapabilities()?.tools ? client.listTools(undefined, request) : { tools: [] },
        options,
      ),
    listResources: (options) =>
      call(
        "resources/list",
        async (client, request) =>
          client.getServerCapabilities()?.resources ? client.listResources(undefined, request) : { resources: [] },
        options,
      ),
    listResourceTemplates: (options) =>
      call(
        "resources/templates/list",
        async (client, request) =>
          client.getServerCapabilities()?.resources
            ? client.listResourceTemplates(undefined, request)
            : { resourceTemplates: [] },
        options,
      ),
    listPrompts: (options) =>
      call(
        "prompts/list",
        async (client, request) =>
          client.getServerCapabilities()?.prompts ? client.listPrompts(undefined, request) : { prompts: [] },
        options,
      ),
  };
}

/** Reports changed lists in both eras of the protocol. Nothing is fetched: callers request a list when they need it. */
export function listChangeHandlers(onChanged: (list: ChangedList) => void): NonNullable<ClientOptions["listChanged"]> {
  const handler = (list: ChangedList): { autoRefresh: false; debounceMs: number; onChanged: () => void } => ({
    autoRefresh: false,
    debounceMs: 0,
    onChanged: () => onChanged(list),
  });
  return { tools: handler("tools"), resources: handler("resources"), prompts: handler("prompts") };
}

/** The notifications of changed lists, in both eras. */
export const listChangedMethods = [
  "notifications/tools/list_changed",
  "notifications/prompts/list_changed",
  "notifications/resources/list_changed",
] as const;

const resubscribe = { firstMs: 1000, maxMs: 60_000 };

/**
 * In the newer era changes arrive on a subscription, which the SDK does not reopen when it breaks. This does, with increasing
 * delays, unless the server does not support it. `onReopened` is called when it is open again, and `onUnreachable` if the server is no
 * longer reachable. Returns a function that stops it.
 */
export function watchSubscription(
  client: Client,
  clock: Clock,
  isOver: () => boolean,
  onReopened: () => void,
  onUnreachable: (failure: ToolServerError) => void,
): () => void {
  const filter = client.autoOpenedSubscription?.honoredFilter ?? filterOf(client);
  const backOff = createBackOff(resubscribe, clock);
  let cancelTimer = (): void => {};
  const openLater = (): void => {
    if (isOver() || filter === undefined) return;
    cancelTimer = clock.after(backOff.ended(), () => void client.listen(filter).then(rewatch, retry), true);
  };
  const watch = (subscription: Subscription): void => {
    backOff.opened();
    void subscription.closed.then((how) => {
      if (how !== "local") openLater();
    });
  };
  const rewatch = (subscription: Subscription): void => {
    watch(subscription);
    if (!isOver()) onReopened();
  };
  const retry = (error: unknown): void => {
    if (ProtocolError.isInstance(error) && isFinalRefusal(error.code)) return;
    const failure = ownFailure(error);
    if (failure?.code === "SERVER_UNREACHABLE") onUnreachable(failure);
    else openLater();
  };
  if (client.autoOpenedSubscription === undefined) openLater();
  else watch(client.autoOpenedSubscription);
  return () => cancelTimer();
}

type Subscription = NonNullable<Client["autoOpenedSubscription"]>;
type Filter = Parameters<Client["listen"]>[0];

/** The list changes that a server of the newer era announces; undefined if there are none. */
function filterOf(client: Client): Filter | undefined {
  const { tools, prompts, resources } = client.getServerCapabilities() ?? {};
  const filter: Filter = {
    ...(tools?.listChanged ? { toolsListChanged: true } : {}),
    ...(prompts?.listChanged ? { promptsListChanged: true } : {}),
    ...(resources?.listChanged ? { resourcesListChanged: true } : {}),
  };
  const isEmpty = Object.keys(filter).length === 0;
  return isEmpty || client.getProtocolEra() !== "modern" ? undefined : filter;
}
