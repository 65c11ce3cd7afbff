import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { channelPrefix } from "@wirescope/tool-server";
import type { Notices } from "../notices.js";

/** Tells those who watch that something may have changed. */
export interface Changes {
  /** Something may have changed. Costs next to nothing while nobody watches. */
  poke(): void;
  /** Calls back after something may have changed, now and then at the latest. Returns how to stop. */
  watch(listener: () => void): () => void;
  readonly watchers: number;
}

/** So long changes are gathered, in milliseconds: a server that connects changes several times. */
const gatherMs = 25;
/** What changes without a word, such as a token that another process renewed, is noticed within this time. */
const sweepMs = 2000;

const traceChannel = `${channelPrefix}trace`;

export function createChanges(notices: Pick<Notices, "subscribe">): Changes {
  const listeners = new Set<() => void>();
  let gathering: NodeJS.Timeout | undefined;
  let stopHearing = (): void => {};

  const tell = (): void => {
    clearTimeout(gathering);
    gathering = undefined;
    for (const listener of [...listeners]) listener();
  };
  const poke = (): void => {
    if (listeners.size > 0) gathering ??= setTimeout(tell, gatherMs);
  };
  const hear = (): void => {
    const sweep = setInterval(tell, sweepMs);
    const unsubscribeNotices = notices.subscribe({ onListChanged: poke });
    subscribe(traceChannel, poke);
    stopHearing = () => {
      clearInterval(sweep);
      clearTimeout(gathering);
      gathering = undefined;
      unsubscribeNotices();
      unsubscribe(traceChannel, poke);
    };
  };

  return {
    poke,
    watch(listener) {
      if (listeners.size === 0) hear();
      listeners.add(listener);
      return () => {
        if (listeners.delete(listener) && listeners.size === 0) stopHearing();
      };
    },
    get watchers() {
      return listeners.size;
    },
  };
}
