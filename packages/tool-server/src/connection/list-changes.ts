import type { Client, ClientOptions } from "@modelcontextprotocol/client";

/** What can change while a connection lives. */
export type ChangedList = "tools" | "resources" | "prompts";

/** Hears of changed lists in both eras of the protocol. Nothing is fetched: who wants the list asks for it. */
export function listChangeHandlers(onChanged: (list: ChangedList) => void): NonNullable<ClientOptions["listChanged"]> {
  const handler = (list: ChangedList): { autoRefresh: false; debounceMs: number; onChanged: () => void } => ({
    autoRefresh: false,
    debounceMs: 0,
    onChanged: () => onChanged(list),
  });
  return { tools: handler("tools"), resources: handler("resources"), prompts: handler("prompts") };
}

const firstPauseMs = 1000;
const longestPauseMs = 60_000;

/**
 * In the newer era changes come over a subscription, which nobody opens again when it breaks. This does, with pauses that
 * grow. Returns how to stop.
 */
export function watchSubscription(client: Client, isOver: () => boolean): () => void {
  let timer: NodeJS.Timeout | undefined;
  let pauseMs = firstPauseMs;
  const watch = (subscription: Client["autoOpenedSubscription"]): void => {
    if (subscription === undefined) return;
    void subscription.closed.then((how) => {
      if (how === "local" || isOver()) return;
      timer = setTimeout(() => {
        client.listen(subscription.honoredFilter).then(
          (next) => {
            pauseMs = firstPauseMs;
            watch(next);
          },
          () => watch({ ...subscription, closed: Promise.resolve("remote") }),
        );
      }, pauseMs);
      timer.unref();
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    });
  };
  watch(client.autoOpenedSubscription);
  return () => clearTimeout(timer);
}
