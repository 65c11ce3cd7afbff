import type { JsonValue } from "@bufbuild/protobuf";

/** A value that came from JSON, as JSON: what is undefined is left out. */
export function jsonOf(value: unknown): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue;
}
