import { randomBytes } from "node:crypto";
import type { StatelessCall } from "./stateless-call.js";

/** Calls that wait for input from their client. Each is identified by a state that only its client knows. */
export interface ParkedCalls {
  readonly size: number;
  /** Parks a call whose input requests have this length; returns its state, or undefined if the limit is reached. */
  park(call: StatelessCall, length: number): string | undefined;
  /** Removes and returns the call with this state, if principal and subject match. */
  take(state: string, principal: string, subject: string): StatelessCall | undefined;
  /** Cancels all. */
  close(): void;
}

export interface ParkedCallsOptions {
  readonly max: number;
  readonly timeoutMs: number;
}

/** The maximum length of the input requests of all parked calls together, in characters. */
const maxLength = 256 * 1024 * 1024;

export function createParkedCalls({ max, timeoutMs }: ParkedCallsOptions): ParkedCalls {
  const parked = new Map<
    string,
    { readonly call: StatelessCall; readonly length: number; readonly timer: NodeJS.Timeout }
  >();
  let total = 0;
  const remove = (state: string): void => {
    total -= parked.get(state)?.length ?? 0;
    parked.delete(state);
  };
  return {
    get size() {
      return parked.size;
    },
    park(call, length) {
      if (parked.size >= max || total + length > maxLength) return undefined;
      const state = randomBytes(24).toString("base64url");
      const timer = setTimeout(() => {
        remove(state);
        call.cancel();
      }, timeoutMs);
      timer.unref();
      parked.set(state, { call, length, timer });
      total += length;
      return state;
    },
    take(state, principal, subject) {
      const found = parked.get(state);
      if (found === undefined || found.call.account.principal !== principal || found.call.subject !== subject) {
        return undefined;
      }
      remove(state);
      clearTimeout(found.timer);
      return found.call;
    },
    close() {
      for (const { call, timer } of parked.values()) {
        clearTimeout(timer);
        call.cancel();
      }
      parked.clear();
      total = 0;
    },
  };
}
