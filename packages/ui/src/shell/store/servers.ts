import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { type AdminClient, createAdminClient, type Server, type WatchServersResponse } from "@wirescope/gateway/admin";
import { applySoon } from "./batch.js";
import { createLatestLoader } from "./load-latest.js";
import { recording } from "./recording.js";
import { session } from "./session.js";
import { chosenTime } from "./timeline.js";
import { transport } from "./transport.js";

/**
 * The client for the gateway's administration service. Its methods reject with a ConnectError that has the same message as in the command line.
 */
export const admin: AdminClient = createAdminClient(transport);

const list = signal<readonly Server[] | undefined>(undefined);

/** The servers of the gateway, in the order of the configuration; undefined until they are loaded. */
export const servers: ReadonlySignal<readonly Server[] | undefined> = computed(() => list.value);

const lastReloadFailure = signal<string | undefined>(undefined);

/** Why the last reload failed, so that the gateway still uses an older configuration; undefined if it succeeded, or the page shows the past. */
export const reloadFailure: ReadonlySignal<string | undefined> = computed(() =>
  chosenTime.value === undefined ? lastReloadFailure.value : undefined,
);

const past = signal<readonly Server[] | undefined>(undefined);

/** The servers at the moment that the page shows; undefined until they are loaded. */
export const shownServers: ReadonlySignal<readonly Server[] | undefined> = computed(() => {
  return chosenTime.value === undefined ? list.value : (past.value ?? list.value);
});

const loadPast = createLatestLoader(async (timeMs: number) => {
  const { servers: then } = await admin.listServers({ pageSize: 1000, time: timestampFromMs(timeMs) });
  past.value = then;
});

/** Loads the servers of the chosen moment. Returns a function that ends it. */
export function followPastServers(): () => void {
  return effect(() => {
    const hasServers = session.value?.features.servers === true && recording.value === undefined;
    if (chosenTime.value === undefined || !hasServers) past.value = undefined;
    else loadPast(chosenTime.value);
  });
}

export function serverNamed(name: string): Server | undefined {
  return list.value?.find((server) => server.name === name);
}

/** Shows a server as a method returned it, before the stream reports the change. */
export function putServer(server: Server | undefined): void {
  if (server !== undefined) list.value = list.peek()?.map((each) => (each.name === server.name ? server : each));
}

/** Returns a function that shows one message of the gateway's servers after the other. */
export function createServersReader(): (message: WatchServersResponse) => void {
  const known = new Map<string, Server>();
  return ({ servers: changed, removed, reloadFailure: failure }) => {
    for (const server of changed) known.set(server.name, server);
    for (const name of removed) known.delete(name);
    const next = [...known.values()];
    applySoon(list, () => {
      list.value = next;
      lastReloadFailure.value = failure?.message;
    });
  };
}
