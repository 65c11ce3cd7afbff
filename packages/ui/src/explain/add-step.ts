import type { Check } from "@wirescope/gateway/admin";

/** Adds a step of a running diagnosis. A step comes again when more is known about it: then it replaces the one before. */
export function addStep(known: readonly Check[], step: Check): readonly Check[] {
  const index = known.findIndex(({ name }) => name === step.name);
  return index < 0 ? [...known, step] : known.with(index, step);
}
