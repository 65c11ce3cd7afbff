/** The name of a correction. */
export type CorrectionId =
  | "unset-times"
  | "swapped-windows"
  | "page-size"
  | "missing-end"
  | "not-found"
  | "lost-cancels"
  | "nested-channels";

/** A correction of one object or page, with what the peer sent. */
export interface AppliedCorrection {
  readonly id: CorrectionId;
  /** What the peer sent, and what it was changed to. */
  readonly detail: string;
}

const marks = new WeakMap<object, readonly AppliedCorrection[]>();

/** The corrections in a message of a corrected source: an object, or the response that lists it. Empty for other messages. */
export function correctionsOf(message: object): readonly AppliedCorrection[] {
  return marks.get(message) ?? [];
}

/** Marks a message as corrected. */
export function markCorrected(message: object, applied: readonly AppliedCorrection[]): void {
  if (applied.length > 0) marks.set(message, [...correctionsOf(message), ...applied]);
}

/** Copies the marks of a message to a copy of it; needed by every source that wraps a corrected source. */
export function carryCorrections(from: object, to: object): void {
  if (from !== to) markCorrected(to, correctionsOf(from));
}
