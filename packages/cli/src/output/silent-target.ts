/** Why a target does not respond, after its name unless the reason begins with that: most reasons name the address. */
export function silentTarget(origin: {
  readonly name: string;
  readonly target: string;
  readonly error?: string | undefined;
}): string {
  const { name, target, error = "It does not respond." } = origin;
  const label = name || target;
  return label === "" || (label === target && error.startsWith(target)) ? error : `${label}: ${error}`;
}
