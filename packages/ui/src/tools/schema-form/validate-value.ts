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
  const alternatives = errors
    .filter(({ keyword }) => keyword === "anyOf" || keyword === "oneOf")
    .map((unit) => ({ unit, ...discriminate(schema, value, unit) }));
  const isBelowAlternative = ({ keywordLocation }: OutputUnit): boolean =>
    alternatives.some(
      ({ unit, branch }) =>
        keywordLocation.startsWith(`${unit.keywordLocation}/`) &&
        (branch === undefined || !keywordLocation.startsWith(`${unit.keywordLocation}/${branch}/`)),
    );
  const problems = new Map<string, FormProblem>();
  for (const unit of errors) {
    const alternative = alternatives.find((each) => each.unit === unit);
    if (wrappers.has(unit.keyword) || isBelowAlternative(unit) || alternative?.branch !== undefined) continue;
    const pointer = unit.instanceLocation.replace(/^#/, "");
    const message = alternative?.message ?? messageOf(unit, schema);
    problems.set(`${pointer} ${message}`, { pointer, message });
    if (problems.size === maxProblems) break;
  }
  return problems.size === 0 ? [{ pointer: "", message: "Does not match the schema." }] : [...problems.values()];
}

/**
 * Alternatives that differ in a constant, such as `kind`: the one that the value selects, of which the errors are reported, or the
 * constants to choose from. Empty for other alternatives.
 */
function discriminate(
  schema: object,
  value: unknown,
  { keywordLocation, instanceLocation }: OutputUnit,
): { readonly branch?: number; readonly message?: string } {
  const branches = partAt(schema, keywordLocation);
  const instance = partAt(value, instanceLocation);
  if (!Array.isArray(branches) || typeof instance !== "object" || instance === null) return {};
  const constantsOf = (name: string): readonly unknown[] =>
    branches.map((_, index) => partAt(schema, `${keywordLocation}/${index}/properties/${name}/const`));
  const names = Object.keys(Object(partAt(schema, `${keywordLocation}/0/properties`)));
  const name = names.find((each) => {
    const constants = constantsOf(each);
    return !constants.includes(undefined) && new Set(constants).size === constants.length;
  });
  if (name === undefined) return {};
  const branch = constantsOf(name).indexOf((instance as Readonly<Record<string, unknown>>)[name]);
  if (branch >= 0) return { branch };
  const choices = constantsOf(name).map((each) => JSON.stringify(each));
  return { message: shortened(`${name} must be ${choices.join(" or ")}.`) };
}

/** The part of a value at a JSON pointer, through local references; undefined if there is none. */
function partAt(root: unknown, pointer: string): unknown {
  let at = root;
  for (const step of pointer.replace(/^#?\/?/, "").split("/")) {
    if (step === "") continue;
    const isReference = step !== "$ref" && typeof memberOf(at, "$ref") === "string" && memberOf(at, step) === undefined;
    if (isReference || step === "$ref") at = partAt(root, String(memberOf(at, "$ref")));
    if (step !== "$ref") at = memberOf(at, decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"));
  }
  return at;
}

function memberOf(value: unknown, name: string): unknown {
  const isObject = typeof value === "object" && value !== null && Object.hasOwn(value, name);
  return isObject ? (value as Record<string, unknown>)[name] : undefined;
}

function messageOf({ keyword, keywordLocation, error }: OutputUnit, schema: object): string {
  // A pattern says nothing to people; its author may have described it.
  if (keyword === "pattern") {
    const part = partAt(schema, keywordLocation.replace(/\/pattern$/, ""));
    const texts = ["description", "title", "pattern"].map((name) => memberOf(part, name));
    return shortened(`Does not match: ${String(texts.find((text) => typeof text === "string"))}`);
  }
  if (keyword === "anyOf") return "Does not match any of the alternatives.";
  if (keyword === "oneOf") return "Does not match exactly one of the alternatives.";
  return shortened(error);
}

function shortened(text: string): string {
  return text.length > maxMessageLength ? `${text.slice(0, maxMessageLength)}…` : text;
}
