import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { keepStream } from "../store/connection.js";
import { changedLists } from "../store/live.js";
import { gatewayClient, originExtension } from "./gateway-client.js";
import { type McpRequestOptions, objectOf, type RpcObject } from "./mcp-client.js";
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

const kindsOf: Readonly<Record<string, readonly OfferKind[]>> = {
  tools: ["tool"],
  resources: ["resource", "template"],
  prompts: ["prompt"],
};

/** Keeps the lists and the subscribed resources current while the tools are shown. Returns a function that ends it. */
export function watchOffers(): () => void {
  let isLoaded = false;
  const stopLists = effect(() => {
    const changed = changedLists.value;
    if (changed === undefined) return;
    void load(isLoaded ? changed.flatMap((list) => kindsOf[list] ?? []) : kinds);
    isLoaded = true;
  });
  // The resources of a subscription cannot change, so a new subscription replaces it.
  const stopUpdates = effect(() => {
    const uris = subscribed.value;
    return uris.length === 0 ? undefined : keepStream(true, (_, ended, onMessage) => listen(uris, ended, onMessage));
  });
  return () => {
    stopLists();
    stopUpdates();
  };
}

/** Subscribes to updates of a resource, or unsubscribes. */
export function setSubscribed(uri: string, isSubscribed: boolean): void {
  const others = subscribed.peek().filter((each) => each !== uri);
  subscribed.value = isSubscribed ? [...others, uri] : others;
}

async function listen(uris: readonly string[], ended: AbortSignal, onMessage: () => void): Promise<void> {
  const options: McpRequestOptions = {
    signal: ended,
    onNotification({ method, params: { uri } }) {
      onMessage();
      if (method === "notifications/resources/updated" && typeof uri === "string") countUpdate(uri);
    },
  };
  try {
    await gatewayClient.request("subscriptions/listen", { notifications: { resourceSubscriptions: uris } }, options);
  } catch (error) {
    if (!ended.aborted) failure.value = error;
    throw error;
  }
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
