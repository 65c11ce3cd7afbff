import type { Check } from "@wirescope/gateway/admin";

/** Adds a step of a running diagnosis. A step with the same name is updated. */
export function addStep(known: readonly Check[], step: Check): readonly Check[] {
  const index = known.findIndex(({ name }) => name === step.name);
  return index < 0 ? [...known, step] : known.with(index, step);
}
