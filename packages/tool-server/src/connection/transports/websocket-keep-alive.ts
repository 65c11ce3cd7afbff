import type { Clock } from "../../clock.js";

/** When a peer is asked whether it is there. */
export interface KeepAliveTimes {
  /** How long it may be silent before it is asked, in milliseconds. Default 30,000. */
  readonly intervalMs: number;
  /** How long it may take to answer, in milliseconds. Default 10,000. */
  readonly timeoutMs: number;
}

export const defaultKeepAlive: KeepAliveTimes = { intervalMs: 30_000, timeoutMs: 10_000 };

/** Watches over a peer that is silent. */
export interface KeepAlive {
  /** Something came from the peer. */
  heard(): void;
  stop(): void;
}

/** Calls `ping` where nothing was heard for the interval, and `onDead` where nothing follows in time. */
export function startKeepAlive(clock: Clock, times: KeepAliveTimes, ping: () => void, onDead: () => void): KeepAlive {
  let isHeard = false;
  let isStopped = false;
  let callOff = (): void => {};
  const watch = (): void => {
    isHeard = false;
    callOff = clock.after(times.intervalMs, () => {
      if (isHeard) return watch();
      ping();
      if (isStopped) return;
      callOff = clock.after(times.timeoutMs, () => (isHeard ? watch() : onDead()));
    });
  };
  watch();
  return {
    heard() {
      isHeard = true;
    },
    stop() {
      isStopped = true;
      callOff();
    },
  };
}
