import type { DebugSwitch, ServerStatus } from "@wirescope/gateway";
import { stateText } from "@wirescope/gateway/internal/status-text";
import { describeHeaders, followDebug } from "../tool-server/debug-printer.js";

export interface DebugSwitchOptions {
  /** Writes a line to the log. */
  readonly write: (server: string, text: string) => void;
  readonly redact: (text: string) => string;
  /** The servers of the gateway as they are now. */
  readonly servers: () => readonly ServerStatus[];
}

/** The debug mode of `wirescope up`. When it is turned on, it first logs the state of each server. */
export function createDebugSwitch({ write, redact, servers }: DebugSwitchOptions): DebugSwitch {
  let stop: (() => void) | undefined;
  const say = (server: string, text: string): void => write(server, redact(text));
  return {
    get isOn() {
      return stop !== undefined;
    },
    set(isOn) {
      if (isOn === (stop !== undefined)) return;
      stop?.();
      stop = undefined;
      if (!isOn) return;
      for (const { name, state, target = "no target", credential = "none", authentication } of servers()) {
        say(name, `${stateText(state)}; ${target}; auth: ${credential}`);
        const headers = authentication && describeHeaders(authentication);
        if (headers !== undefined) say(name, headers);
      }
      stop = followDebug(say);
    },
  };
}
