/**
 * A value of JSON as one text: the same for the same value whatever the order of keys, and another for any other value.
 * Arrays keep their order. Throws a TypeError for what JSON does not have.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") return canonicalNumber(value);
  if (value === null || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object") throw new TypeError(`JSON has no ${typeof value}.`);
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`);
  return `{${members.join(",")}}`;
}

/** JSON.stringify makes null of what is too large for a number, and 0 of -0. */
function canonicalNumber(value: number): string {
  if (Number.isNaN(value)) throw new TypeError("JSON has no NaN.");
  if (!Number.isFinite(value)) return value > 0 ? "1e999" : "-1e999";
  return Object.is(value, -0) ? "-0" : String(value);
}
