import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { relativeTime } from "./relative-time.js";

/** The current time, for everything that is shown relative to now. It moves once a second while the page is visible. */
const nowMs = signal(Date.now());
setInterval(() => {
  if (document.visibilityState === "visible") nowMs.value = Date.now();
}, 1000);

/** A time relative to now, such as "3 min ago"; the exact time on hover. */
export function Time({ ms }: { readonly ms: number }): VNode {
  const date = new Date(ms);
  return (
    <time dateTime={date.toISOString()} title={`${date.toLocaleString()} (${date.toISOString()})`}>
      {relativeTime(ms, nowMs.value)}
    </time>
  );
}
