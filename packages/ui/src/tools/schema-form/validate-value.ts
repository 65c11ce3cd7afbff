import { type OutputUnit, Validator } from "@cfworker/json-schema";
import type { FormProblem } from "./draft.js";

const maxProblems = 20;
const maxMessageLength = 300;

/** Keywords that only repeat the errors below them. */
const wrappers: ReadonlySet<string> = new Set([
  "properties",
  "items",
  "prefixItems",
  "allOf",
  "$ref",
  "if",
  "dependentSchemas",
]);

/**
 * Validates a value by JSON Schema 2020-12. With a hostile schema it may run forever or exhaust the stack: call it in a worker that can
 * be terminated.
 */
export function validateValue(schema: unknown, value: unknown): readonly FormProblem[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { valid, errors } = new Validator(schema, "2020-12", false).validate(value);
  if (valid) return [];
  const alternatives = errors.filter(({ keyword }) => keyword === "anyOf" || keyword === "oneOf");
  const isBelowAlternative = ({ keywordLocation }: OutputUnit): boolean =>
    alternatives.some((unit) => keywordLocation.startsWith(`${unit.keywordLocation}/`));
  const problems = new Map<string, FormProblem>();
  for (const unit of errors) {
    if (wrappers.has(unit.keyword) || isBelowAlternative(unit)) continue;
    const pointer = unit.instanceLocation.replace(/^#/, "");
    const message = messageOf(unit);
    problems.set(`${pointer} ${message}`, { pointer, message });
    if (problems.size === maxProblems) break;
  }
  return problems.size === 0 ? [{ pointer: "", message: "Does not match the schema." }] : [...problems.values()];
}

function messageOf({ keyword, error }: OutputUnit): string {
  if (keyword === "anyOf") return "Does not match any of the alternatives.";
  if (keyword === "oneOf") return "Does not match exactly one of the alternatives.";
  return error.length > maxMessageLength ? `${error.slice(0, maxMessageLength)}…` : error;
}
