import { type ConnectionInfo, type CredentialEnding, channels } from "@wirescope/tool-server";
import type { Gauge } from "../metrics.js";

/** Past so many different ones the rest are counted together: each reload may bring servers of new names. */
const mostSeries = 2000;

/** Counts what is done for the credentials of servers: refreshes, sign-ins, runs of helpers, and how they came out. */
// A class, for it is held weakly as one.
class CredentialCounts {
  readonly #series = new Map<string, { readonly labels: Readonly<Record<string, string>>; value: number }>();
  readonly #isOurs: (connection: ConnectionInfo) => boolean;

  constructor(isOurs: (connection: ConnectionInfo) => boolean) {
    this.#isOurs = isOurs;
  }

  count({ operation: { subject, kind }, outcome, code }: CredentialEnding): void {
    if (!this.#isOurs(subject)) return;
    const how = { operation: kind, outcome, ...(outcome === "failed" ? { code: code ?? "_OTHER" } : {}) };
    if (!this.#add({ server: subject.name, ...how })) this.#add({ server: "_OTHER", ...how }, true);
  }

  #add(labels: Readonly<Record<string, string>>, isForced = false): boolean {
    const key = Object.values(labels).join("\n");
    const found = this.#series.get(key);
    if (found !== undefined) found.value += 1;
    else if (isForced || this.#series.size < mostSeries) this.#series.set(key, { labels, value: 1 });
    else return false;
    return true;
  }

  values(): Gauge["values"] {
    return [...this.#series.values()].map(({ labels, value }) => ({ labels, value }));
  }
}

/** Begins to count. `isOurs` tells the connections of this gateway from others of the process. */
export function countCredentialOperations(
  isOurs: (connection: ConnectionInfo) => boolean,
): Pick<CredentialCounts, "values"> {
  const counts = new CredentialCounts(isOurs);
  // Being counted keeps no gateway alive: who is gone is noticed here.
  const held = new WeakRef(counts);
  const channel = channels["credential:ended"];
  const onEnded = (message: unknown): void => {
    const living = held.deref();
    if (living === undefined) channel.unsubscribe(onEnded);
    else living.count(message as CredentialEnding);
  };
  channel.subscribe(onEnded);
  return counts;
}
