import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { keepStream } from "../store/connection.js";
import { gatewayClient, originExtension } from "./gateway-client.js";
import { objectOf, type RpcObject } from "./mcp-client.js";
import { listMethod, type Offer, type OfferKind, offersOf } from "./offer.js";

const maxSuggestions = 100;
const kinds: readonly OfferKind[] = ["tool", "resource", "template", "prompt"];

/** The offers of a kind; undefined until they are loaded. */
export type Offers = Readonly<Record<OfferKind, readonly Offer[] | undefined>>;

const loaded = signal<Offers>({ tool: undefined, resource: undefined, template: undefined, prompt: undefined });
const failure = signal<unknown>(undefined);
const subscribed = signal<readonly string[]>([]);
const updates = signal<ReadonlyMap<string, number>>(new Map());

export const offers: ReadonlySignal<Offers> = computed(() => loaded.value);

/** Why the lists could not be loaded. */
export const offersFailure: ReadonlySignal<unknown> = computed(() => failure.value);

/** The resources that the page is subscribed to. */
export const subscribedResources: ReadonlySignal<readonly string[]> = computed(() => subscribed.value);

/** How often each subscribed resource was updated. */
export const resourceUpdates: ReadonlySignal<ReadonlyMap<string, number>> = computed(() => updates.value);

/** Which lists change with a notification. */
const changedBy: Readonly<Record<string, readonly OfferKind[]>> = {
  "notifications/tools/list_changed": ["tool"],
  "notifications/resources/list_changed": ["resource", "template"],
  "notifications/prompts/list_changed": ["prompt"],
};

/** Keeps the lists current while the tools are shown. Returns a function that ends it. */
export function watchOffers(): () => void {
  return keepStream(true, async (_, ended, onMessage) => {
    // Until the gateway ends it. If the subscribed resources change, it starts again at once.
    while (!ended.aborted && (await listen(ended, onMessage)));
  });
}

let restart = new AbortController();

/** Subscribes to updates of a resource, or unsubscribes. */
export function setSubscribed(uri: string, isSubscribed: boolean): void {
  const others = subscribed.peek().filter((each) => each !== uri);
  subscribed.value = isSubscribed ? [...others, uri] : others;
  // The resources of a subscription cannot change, so a new subscription replaces it.
  restart.abort();
}

/** One subscription, until it ends or its resources change. Resolves with whether it is replaced. */
async function listen(ended: AbortSignal, onMessage: () => void): Promise<boolean> {
  restart = new AbortController();
  const { signal: replaced } = restart;
  const notifications = {
    toolsListChanged: true,
    resourcesListChanged: true,
    promptsListChanged: true,
    ...(subscribed.peek().length === 0 ? {} : { resourceSubscriptions: subscribed.peek() }),
  };
  try {
    await gatewayClient.request(
      "subscriptions/listen",
      { notifications },
      {
        signal: AbortSignal.any([ended, replaced]),
        onNotification({ method, params: { uri } }) {
          onMessage();
          if (method === "notifications/subscriptions/acknowledged") void load(kinds);
          if (method === "notifications/resources/updated" && typeof uri === "string") countUpdate(uri);
          const changed = changedBy[method];
          if (changed !== undefined) void load(changed);
        },
      },
    );
  } catch (error) {
    if (replaced.aborted) return true;
    if (!ended.aborted) failure.value = error;
    throw error;
  }
  return false;
}

function countUpdate(uri: string): void {
  updates.value = new Map(updates.peek()).set(uri, (updates.peek().get(uri) ?? 0) + 1);
}

async function load(changed: readonly OfferKind[]): Promise<void> {
  try {
    const lists = await Promise.all(
      changed.map(async (kind) => {
        const result = await gatewayClient.request(listMethod(kind), {});
        return [kind, offersOf(kind, result, originExtension)] as const;
      }),
    );
    loaded.value = { ...loaded.peek(), ...Object.fromEntries(lists) };
    failure.value = undefined;
  } catch (error) {
    failure.value = error;
  }
}

/** The values that a server suggests for an argument of a prompt or a template. */
export async function completeArgument(
  ref: RpcObject,
  argument: { readonly name: string; readonly value: string },
  others: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const params = { ref, argument, context: { arguments: others } };
  const { completion } = await gatewayClient.request("completion/complete", params, { signal });
  const { values } = objectOf(completion);
  return Array.isArray(values) ? values.filter((value) => typeof value === "string").slice(0, maxSuggestions) : [];
}
