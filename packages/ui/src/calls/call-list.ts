import type { CallRow, Outcome } from "../shell/store/index.js";

/** The filter of the list; an empty string shows all. */
export interface CallFilter {
  readonly server: string;
  readonly client: string;
  readonly outcome: string;
  /** Whether requests are shown that the gateway handles itself, such as lists. */
  readonly includesOwn: boolean;
}

/** The outcomes that the filter "failed" shows: an error, or a failure that the tool reported. */
const failures: ReadonlySet<Outcome> = new Set<Outcome>(["error", "tool error"]);

export function filterCalls(calls: readonly CallRow[], filter: CallFilter): readonly CallRow[] {
  const { server, client, outcome, includesOwn } = filter;
  return calls.filter(
    (call) =>
      (includesOwn || call.server !== "" || call.method === "tools/call") &&
      (server === "" || call.server === server) &&
      (client === "" || call.client === client) &&
      (outcome === "" || (outcome === "failed" ? failures.has(call.outcome) : call.outcome === outcome)),
  );
}

/** The calls as they were at a moment: without those that started later, and as running if they ended later. */
export function callsAt(calls: readonly CallRow[], timeMs: number): readonly CallRow[] {
  return calls.flatMap((call) => {
    if (call.startMs > timeMs) return [];
    const hasEnded = call.durationMs !== undefined && call.startMs + call.durationMs <= timeMs;
    return [hasEnded ? call : { ...call, outcome: "running" as const, durationMs: undefined, reason: "" }];
  });
}

/** The list while it is held: without newer calls, which are only counted. */
export function holdList(
  calls: readonly CallRow[],
  heldAt: string | undefined,
): { readonly shown: readonly CallRow[]; readonly newCount: number } {
  const index = heldAt === undefined ? 0 : calls.findIndex(({ id }) => id === heldAt);
  return index <= 0 ? { shown: calls, newCount: 0 } : { shown: calls.slice(index), newCount: index };
}

/** The values of a field, each once, in order. */
export function valuesOf(calls: readonly CallRow[], field: "server" | "client"): readonly string[] {
  return [...new Set(calls.map((call) => call[field]))].filter((value) => value !== "").sort();
}
