import type { JsonValue } from "../../vault/vault.js";

/** The texts of a list; undefined where it is no list. What is no text in it is left out. */
export function textList(value: JsonValue | undefined): string[] | undefined {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : undefined;
}

/** The text that a field has; undefined where it has none. */
export function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
