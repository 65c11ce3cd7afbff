import { signal } from "@preact/signals";
import { type Context, createContext, type VNode } from "preact";
import { useContext } from "preact/hooks";
import { relativeTime, relativeToMoment } from "./relative-time.js";

/** The current time, for everything that is shown relative to now. It moves once a second while the page is visible. */
const nowMs = signal(Date.now());
setInterval(() => {
  if (document.visibilityState === "visible") nowMs.value = Date.now();
}, 1000);

/** The moment of the past that the elements below show; undefined for now. */
export const ShownMoment: Context<number | undefined> = createContext<number | undefined>(undefined);

/** A time relative to now ("3 min ago") or to the moment that is shown ("3 min earlier"); the exact time on hover. */
export function Time({ ms }: { readonly ms: number }): VNode {
  const momentMs = useContext(ShownMoment);
  const date = new Date(ms);
  return (
    <time dateTime={date.toISOString()} title={`${date.toLocaleString()} (${date.toISOString()})`}>
      {momentMs === undefined ? relativeTime(ms, nowMs.value) : relativeToMoment(ms, momentMs)}
    </time>
  );
}
