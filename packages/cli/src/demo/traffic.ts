import { setTimeout as pause } from "node:timers/promises";
import { ConnectError } from "@connectrpc/connect";
import type { GreeterChannel } from "./greeter-channel.js";

const names = ["Ada", "Grace", "Edsger", "Barbara", ""];

/** Calls a greeter at a pace, one call at a time, until it is told to stop; every fifth call names nobody, and fails. */
export async function keepCalling(channel: GreeterChannel, intervalMs: number, stop: AbortSignal): Promise<void> {
  for (let calls = 0; !stop.aborted; calls++) {
    try {
      await channel.greeter.greet({ name: names[calls % names.length] ?? "" }, { signal: stop, timeoutMs: 5000 });
    } catch (error) {
      // A call that fails is part of the show.
      if (!(error instanceof ConnectError)) throw error;
    }
    await pause(intervalMs, undefined, { signal: stop }).catch(() => {});
  }
}
