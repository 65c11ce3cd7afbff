import { once } from "node:events";
import type { Readable } from "node:stream";
import { systemClock, waitAtMost } from "../clock.js";

/** How long a pipe may stay open once its group is gone. */
const drainMs = 250;

/**
 * Waits for the end of a pipe that is being read and whose writers have ended, then closes it. What they wrote is in it by
 * now; a daemon that left the group may hold it open for ever.
 */
export async function drain(pipe: Readable): Promise<void> {
  if (pipe.closed) return;
  const controller = new AbortController();
  await waitAtMost(systemClock, drainMs, once(pipe, "close", { signal: controller.signal }));
  controller.abort();
  pipe.destroy();
}
