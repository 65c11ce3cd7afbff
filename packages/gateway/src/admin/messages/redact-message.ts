/**
 * Takes secrets out of every text of a message, in place, and gives it back. `isKept` names fields that must arrive whole, such as
 * a url that a person has to open.
 */
export function redactMessage<T extends object>(
  message: T,
  redact: (text: string) => string,
  isKept: (field: string) => boolean = () => false,
): T {
  const fields = message as Record<string, unknown>;
  for (const [field, value] of Object.entries(fields)) {
    if (field === "$typeName" || field === "case" || isKept(field)) continue;
    if (typeof value === "string") fields[field] = redact(value);
    else if (Array.isArray(value)) {
      fields[field] = value.map((item: unknown) =>
        typeof item === "string" ? redact(item) : redactWithin(item, redact, isKept),
      );
    } else redactWithin(value, redact, isKept);
  }
  return message;
}

function redactWithin(value: unknown, redact: (text: string) => string, isKept: (field: string) => boolean): unknown {
  return typeof value === "object" && value !== null ? redactMessage(value, redact, isKept) : value;
}
