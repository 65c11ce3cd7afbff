/** The name of a target and why it does not respond. Most reasons begin with the address, which is then not repeated. */
export function silentTarget(origin: {
  readonly name: string;
  readonly target: string;
  readonly error?: string | undefined;
}): string {
  const { name, target, error = "It does not respond." } = origin;
  const label = name || target;
  return label === "" || (label === target && error.startsWith(target)) ? error : `${label}: ${error}`;
}
