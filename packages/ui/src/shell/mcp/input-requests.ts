import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { RpcObject } from "./mcp-client.js";
import type { Offer } from "./offer.js";
import type { InputRequest } from "./run-flow.js";

/** An input request that waits for the user. */
export interface PendingInputRequest extends InputRequest {
  readonly id: number;
  readonly run: { readonly id: number; readonly offer: Offer };
  respond(response: RpcObject): void;
}

const pending = signal<readonly PendingInputRequest[]>([]);
let lastId = 0;

/** The pending input requests, the oldest first. */
export const inputRequests: ReadonlySignal<readonly PendingInputRequest[]> = computed(() => pending.value);

/** Asks the user. Rejects if the run is cancelled first. */
export function askUser(
  run: PendingInputRequest["run"],
  request: InputRequest,
  cancelled: AbortSignal,
): Promise<RpcObject> {
  lastId += 1;
  const id = lastId;
  return new Promise((resolve, reject) => {
    const remove = (): void => {
      cancelled.removeEventListener("abort", onAbort);
      pending.value = pending.peek().filter((each) => each.id !== id);
    };
    const onAbort = (): void => {
      remove();
      reject(cancelled.reason);
    };
    cancelled.addEventListener("abort", onAbort, { once: true });
    const respond = (response: RpcObject): void => {
      remove();
      resolve(response);
    };
    pending.value = [...pending.peek(), { ...request, id, run, respond }];
  });
}
