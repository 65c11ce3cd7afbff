/**
 * Redacts every string of a message, in place, and returns it. `isKept` names fields whose exact value is needed, such as a URL that
 * the user has to open.
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
