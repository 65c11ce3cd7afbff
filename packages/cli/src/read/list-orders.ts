/** Ascending by text; empty last. */
export function byText<T>(textOf: (item: T) => string): (a: T, b: T) => number {
  return (a, b) => {
    const [first, second] = [textOf(a), textOf(b)];
    if (first === "" || second === "") return first === second ? 0 : first === "" ? 1 : -1;
    return first < second ? -1 : first > second ? 1 : 0;
  };
}

/** The highest number first. */
export function byNumber<T>(numberOf: (item: T) => bigint | undefined): (a: T, b: T) => number {
  return (a, b) => {
    const [first, second] = [numberOf(a) ?? 0n, numberOf(b) ?? 0n];
    return first > second ? -1 : first < second ? 1 : 0;
  };
}

/** The latest time first; never last. */
export function byTime<T>(timeOf: (item: T) => Date | undefined): (a: T, b: T) => number {
  return (a, b) => (timeOf(b)?.getTime() ?? 0) - (timeOf(a)?.getTime() ?? 0);
}
