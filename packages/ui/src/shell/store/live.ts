import { type ReadonlySignal, signal } from "@preact/signals";
import { createPageClient } from "@wirescope/gateway/admin";
import { createCallsReader } from "./calls.js";
import { keepStream } from "./connection.js";
import { createServersReader } from "./servers.js";
import { createTimelineUpdater, watchTarget } from "./timeline.js";
import { transport } from "./transport.js";

const client = createPageClient(transport);

const allLists = ["tools", "resources", "prompts"];
const lists = signal<readonly string[] | undefined>(undefined);

/** The lists that just changed, and all of them when the stream opens; undefined until then. */
export const changedLists: ReadonlySignal<readonly string[] | undefined> = lists;

/**
 * Keeps everything current that the page shows, whatever the view, with one stream: over HTTP/1.1 browsers allow six connections to a
 * host, for all windows together.
 */
export function watchLive(): () => void {
  return keepStream(true, async (session, signal, onMessage) => {
    if (session.kind === "target") return watchTarget(signal, onMessage);
    const showTimeline = createTimelineUpdater(signal);
    const showServers = createServersReader();
    const showCalls = createCallsReader();
    lists.value = allLists;
    for await (const { event } of client.watch({}, { signal })) {
      onMessage();
      if (event.case === "timeline") showTimeline(event.value);
      if (event.case === "servers") showServers(event.value);
      if (event.case === "calls") showCalls(event.value);
      if (event.case === "lists") lists.value = event.value.lists;
    }
  });
}
