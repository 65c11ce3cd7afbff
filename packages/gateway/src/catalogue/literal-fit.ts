/**
 * How many characters of these texts stand in another, in their order, the first at its start and the last at its end; undefined
 * where they do not. What stands between them is not looked at, so that it takes no longer than the other is long, however many there are.
 */
export function literalFit(literals: readonly string[], text: string): number | undefined {
  const first = literals[0] ?? "";
  const last = literals.at(-1) ?? "";
  if (literals.length <= 1) return first === text ? text.length : undefined;
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return undefined;
  const end = text.length - last.length;
  let at = first.length;
  let fit = first.length + last.length;
  for (const literal of literals.slice(1, -1)) {
    const found = text.indexOf(literal, at);
    if (found < 0 || found + literal.length > end) return undefined;
    at = found + literal.length;
    fit += literal.length;
  }
  return fit;
}
