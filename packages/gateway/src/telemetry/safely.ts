/** Does something that must not disturb what it follows: undefined where it throws, as parts of an application may. */
export function safely<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
