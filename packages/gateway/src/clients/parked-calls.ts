import { randomBytes } from "node:crypto";
import type { ModernCall } from "./modern-call.js";

/** Calls that wait until their client comes back with input. Each is found by a state that only its client was told. */
export interface ParkedCalls {
  readonly size: number;
  /** Keeps a call; undefined where there is no room. */
  park(call: ModernCall): string | undefined;
  /** The call of this state, where it is this principal's and of this subject. It is parked no more. */
  take(state: string, principal: string, subject: string): ModernCall | undefined;
  /** Calls all off. */
  close(): void;
}

export interface ParkedCallsOptions {
  readonly most: number;
  readonly timeoutMs: number;
}

export function createParkedCalls({ most, timeoutMs }: ParkedCallsOptions): ParkedCalls {
  const parked = new Map<string, { readonly call: ModernCall; readonly timer: NodeJS.Timeout }>();
  return {
    get size() {
      return parked.size;
    },
    park(call) {
      if (parked.size >= most) return undefined;
      const state = randomBytes(24).toString("base64url");
      const timer = setTimeout(() => {
        parked.delete(state);
        call.callOff();
      }, timeoutMs);
      timer.unref();
      parked.set(state, { call, timer });
      return state;
    },
    take(state, principal, subject) {
      const found = parked.get(state);
      if (found === undefined || found.call.caller.account.principal !== principal || found.call.subject !== subject) {
        return undefined;
      }
      parked.delete(state);
      clearTimeout(found.timer);
      return found.call;
    },
    close() {
      for (const { call, timer } of parked.values()) {
        clearTimeout(timer);
        call.callOff();
      }
      parked.clear();
    },
  };
}
