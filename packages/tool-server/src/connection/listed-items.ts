import { specTypeSchemas } from "@modelcontextprotocol/client";
import { isObject, type RpcObject } from "./rpc/json-rpc.js";
import { problemOfSchema } from "./schema-problem.js";

/** Why an item of a server's list is omitted, or which part of it is. */
export interface ListProblem {
  /** The item, such as `tool "search"`. */
  readonly item: string;
  /** The part that is omitted, such as `description`; undefined if the whole item is. */
  readonly part?: string | undefined;
  readonly reason: string;
}

interface ItemKind {
  readonly field: string;
  readonly noun: string;
  readonly key: string;
  readonly required: readonly string[];
  readonly type: "Tool" | "Prompt" | "Resource" | "ResourceTemplate";
}

const kinds: Readonly<Record<string, ItemKind>> = {
  "tools/list": {
    field: "tools",
    noun: "tool",
    key: "name",
    required: ["name", "inputSchema"],
    type: "Tool",
  },
  "prompts/list": { field: "prompts", noun: "prompt", key: "name", required: ["name"], type: "Prompt" },
  "resources/list": {
    field: "resources",
    noun: "resource",
    key: "uri",
    required: ["uri", "name"],
    type: "Resource",
  },
  "resources/templates/list": {
    field: "resourceTemplates",
    noun: "resource template",
    key: "uriTemplate",
    required: ["uriTemplate", "name"],
    type: "ResourceTemplate",
  },
};

/** Checks the lists of a session. */
export interface ListCheck {
  /**
   * Checks each item of a list against the schema of the protocol: clients reject a whole list because of one invalid item. An optional
   * part that is invalid is omitted, otherwise the item is. Null means missing. Other results are returned as they are.
   */
  check(result: RpcObject, method: string, params: RpcObject | undefined): RpcObject;
  /** What was omitted when a list was last requested. */
  problems(method: string): readonly ListProblem[];
}

/** The maximum number of items on one page; the others are dropped. */
const maxItems = 20_000;

/** `report` is called with what is omitted from a list, until that changes. */
export function createListCheck(report: (text: string) => void): ListCheck {
  const found = new Map<string, ListProblem[]>();
  const reported = new Map<string, string>();
  return {
    check(result, method, params) {
      const kind = Object.hasOwn(kinds, method) ? kinds[method] : undefined;
      if (kind === undefined) return result;
      const { [kind.field]: listed, nextCursor, _meta, ...rest } = result;
      if (!Array.isArray(listed)) return result;
      const problems = (params?.cursor !== undefined && found.get(method)) || [];
      found.set(method, problems);
      const onProblem = (problem: ListProblem): void => {
        if (problems.length < maxItems) problems.push(problem);
      };
      const items = listed.slice(0, maxItems).flatMap((item, index) => checkItem(kind, item, index, onProblem) ?? []);
      const text = describeListProblems(problems);
      if (problems.length > 0 && reported.get(method) !== text) report(`Omitted from ${method}: ${text}.`);
      reported.set(method, text);
      return {
        ...rest,
        ...(typeof nextCursor === "string" ? { nextCursor } : {}),
        ...(isObject(_meta) ? { _meta } : {}),
        [kind.field]: items,
      };
    },
    problems: (method) => found.get(method) ?? [],
  };
}

const maxNameLength = 100;

function checkItem(
  kind: ItemKind,
  given: unknown,
  index: number,
  onProblem: (problem: ListProblem) => void,
): RpcObject | undefined {
  const key = isObject(given) ? given[kind.key] : undefined;
  const name = typeof key === "string" ? JSON.stringify(key.slice(0, maxNameLength)) : `number ${index + 1}`;
  const item = `${kind.noun} ${name}`;
  if (!isObject(given)) {
    onProblem({ item, reason: "it is not an object" });
    return undefined;
  }
  const omitted = new Map<string, string>();
  const checked = withUsableSchemas(withoutNulls(given), omitted);
  let repaired: RpcObject = checked;
  const issues = issuesOf(kind, checked);
  if (issues.length > 0) {
    repaired = withoutInvalid(checked, kind, issues, omitted);
    const [left] = issuesOf(kind, repaired);
    if (left !== undefined) {
      const cause = issues.find(({ path }) => path.join() === left.path.join()) ?? left;
      onProblem({ item, reason: cause.text });
      return undefined;
    }
  }
  for (const [part, reason] of omitted) onProblem({ item, part, reason });
  return repaired;
}

function withoutNulls(item: RpcObject): RpcObject {
  const entries = Object.entries(item);
  return entries.every(([, value]) => value !== null)
    ? item
    : Object.fromEntries(entries.filter(([, value]) => value !== null));
}

interface Issue {
  readonly path: readonly PropertyKey[];
  readonly text: string;
}

type Validator = (typeof specTypeSchemas)["Tool" | "Prompt" | "Resource" | "ResourceTemplate"]["~standard"];
/** Reading one from the library takes longer than a check. */
const validators = new Map<ItemKind["type"], Validator>();

function validatorOf(type: ItemKind["type"]): Validator {
  let validator = validators.get(type);
  if (validator === undefined) {
    validator = specTypeSchemas[type]["~standard"];
    validators.set(type, validator);
  }
  return validator;
}

function issuesOf({ type }: ItemKind, item: RpcObject): readonly Issue[] {
  const checked = validatorOf(type).validate(withoutProperties(item));
  // A value that is nested too deeply is checked again asynchronously, and fails again.
  if (checked instanceof Promise) {
    checked.catch(() => {});
    return [{ path: [], text: "nested too deeply" }];
  }
  return (checked.issues ?? []).map(({ path: parts = [], message }) => {
    const path = parts.map((part) => (typeof part === "object" ? part.key : part));
    const place = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
    const isMissing = path.reduce<unknown>((value, part) => Object(value)[part], item) === undefined;
    return { path, text: isMissing ? `${place.slice(1)} is missing` : `${place.slice(1)}: ${message}` };
  });
}

/** A tool without the properties of its schemas, which are checked already: the schema of the protocol takes ten times as long. */
function withoutProperties(item: RpcObject): RpcObject {
  const { inputSchema } = item;
  if (!isObject(inputSchema)) return item;
  const { properties } = inputSchema;
  const { outputSchema: _, ...rest } = item;
  return isObject(properties) ? { ...rest, inputSchema: { ...inputSchema, properties: {} } } : rest;
}

/** A copy without the optional parts that have an issue: fields, items of a list, and fields of an input schema. */
function withoutInvalid(
  item: RpcObject,
  { required }: ItemKind,
  issues: readonly Issue[],
  omitted: Map<string, string>,
): RpcObject {
  const copy: Record<string, unknown> = { ...item };
  for (const { path, text } of issues) {
    const [first, second] = path;
    if (typeof first !== "string") continue;
    const isRequired = required.includes(first);
    const isInList = !isRequired && Array.isArray(copy[first]) && typeof second === "number";
    const isInObject = isRequired && isObject(copy[first]) && typeof second === "string";
    const part = isInList ? `${first}[${second}]` : isInObject ? `${first}.${second}` : first;
    // There may be many issues, so each part is copied only once.
    if (omitted.has(part)) continue;
    omitted.set(part, text);
    if (isInList) {
      if (copy[first] === item[first]) copy[first] = [...(item[first] as unknown[])];
      (copy[first] as unknown[])[second] = undefined;
    } else if (isInObject) {
      const { [second]: _, ...rest } = copy[first] as RpcObject;
      copy[first] = rest;
    } else if (!isRequired) delete copy[first];
  }
  for (const [field, value] of Object.entries(copy)) {
    if (Array.isArray(value)) copy[field] = value.filter((each) => each !== undefined);
  }
  return copy;
}

/** A tool with schemas that clients accept; any other item as it is. */
function withUsableSchemas(item: RpcObject, omitted: Map<string, string>): RpcObject {
  const { inputSchema, outputSchema, ...rest } = item;
  if (!isObject(inputSchema)) return item;
  // The protocol allows no other type.
  const typed = inputSchema.type == null ? { ...inputSchema, type: "object" } : inputSchema;
  const tool = { ...item, inputSchema: withSchemaProperties(typed, omitted) };
  if (outputSchema === undefined) return tool;
  // Nothing refers to the id of a whole schema, and clients confuse those of several tools.
  const { $id: _, ...output } = isObject(outputSchema) ? outputSchema : {};
  const problem = isObject(outputSchema) ? problemOfSchema(output) : "expected object";
  if (problem === undefined) return { ...tool, outputSchema: withSchemaProperties(output, omitted) };
  omitted.set("outputSchema", `outputSchema: ${problem}`);
  return { ...rest, inputSchema: tool.inputSchema };
}

/** A schema whose properties are objects, as many clients require: the equivalent of `true` and `false`, and no invalid ones. */
function withSchemaProperties(schema: RpcObject, omitted: Map<string, string>): RpcObject {
  const { properties } = schema;
  if (!isObject(properties) || Object.values(properties).every(isObject)) return schema;
  const entries = Object.entries(properties).flatMap(([name, value]) => {
    if (value === true) return [[name, {}]];
    if (value === false) return [[name, { not: {} }]];
    if (isObject(value)) return [[name, value]];
    const part = `property ${JSON.stringify(name.slice(0, maxNameLength))}`;
    omitted.set(part, `${part}: expected a schema`);
    return [];
  });
  return { ...schema, properties: Object.fromEntries(entries) };
}

const maxDescribed = 10;

/** The problems of a list in one line, no matter how many there are. */
export function describeListProblems(problems: readonly ListProblem[]): string {
  const texts = problems
    .slice(0, maxDescribed)
    .map(({ item, part, reason }) => (part === undefined ? `${item} (${reason})` : `${part} of ${item} (${reason})`));
  const more = problems.length > maxDescribed ? `, and ${problems.length - maxDescribed} more` : "";
  return `${texts.join(", ")}${more}`;
}
