import { batch } from "@preact/signals";

/** At most four updates per second reach the views. */
const intervalMs = 250;

const waiting = new Map<object, () => void>();
let timer: ReturnType<typeof setTimeout> | undefined;
let lastMs = 0;

/** Applies an update with the next batch. A later update with the same key replaces a pending one. */
export function applySoon(key: object, update: () => void): void {
  waiting.set(key, update);
  if (timer === undefined) timer = setTimeout(apply, Math.max(0, lastMs + intervalMs - performance.now()));
}

function apply(): void {
  timer = undefined;
  lastMs = performance.now();
  const updates = [...waiting.values()];
  waiting.clear();
  batch(() => {
    for (const update of updates) update();
  });
}
