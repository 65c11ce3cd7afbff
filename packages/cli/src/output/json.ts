import type { JsonValue } from "@bufbuild/protobuf";

/** Indented JSON. Characters that could control a terminal are written as JSON escapes. */
export function formatJson(value: JsonValue): string {
  return escaped(JSON.stringify(value, null, 2));
}

/** The same on one line. */
export function formatJsonLine(value: JsonValue): string {
  return escaped(JSON.stringify(value));
}

function escaped(json: string): string {
  return json.replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from(
      { length: character.length },
      (_, unit) => `\\u${character.charCodeAt(unit).toString(16).padStart(4, "0")}`,
    ).join(""),
  );
}

/** A value as JSON; undefined members are left out. */
export function jsonOf(value: unknown): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue;
}
