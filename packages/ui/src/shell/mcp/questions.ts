import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { RpcObject } from "./mcp-client.js";
import type { Offer } from "./offer.js";
import type { ServerQuestion } from "./run-flow.js";

/** A question that waits for the person. */
export interface PendingQuestion extends ServerQuestion {
  readonly id: number;
  readonly run: { readonly id: number; readonly offer: Offer };
  respond(response: RpcObject): void;
}

const pending = signal<readonly PendingQuestion[]>([]);
let lastId = 0;

/** The questions that wait, the oldest first. */
export const questions: ReadonlySignal<readonly PendingQuestion[]> = computed(() => pending.value);

/** Asks the person. Rejects if the run is cancelled first. */
export function askPerson(
  run: PendingQuestion["run"],
  question: ServerQuestion,
  cancelled: AbortSignal,
): Promise<RpcObject> {
  lastId += 1;
  const id = lastId;
  return new Promise((resolve, reject) => {
    const remove = (): void => {
      cancelled.removeEventListener("abort", giveUp);
      pending.value = pending.peek().filter((each) => each.id !== id);
    };
    const giveUp = (): void => {
      remove();
      reject(cancelled.reason);
    };
    cancelled.addEventListener("abort", giveUp, { once: true });
    const respond = (response: RpcObject): void => {
      remove();
      resolve(response);
    };
    pending.value = [...pending.peek(), { ...question, id, run, respond }];
  });
}
