import { type Draft, draftValue, emptyDraft } from "./draft.js";
import type { FormNode, NodeOf } from "./form-node.js";

const maxTextLength = 100_000;

/** The initial draft of a form: its defaults. */
export function initialDraft(node: FormNode, isRequired = true): Draft {
  const given = node.default === undefined ? undefined : draftOf(node, node.default, isRequired);
  if (given !== undefined) return given;
  switch (node.kind) {
    case "group":
      return node.fields.map((field) => initialDraft(field.node, field.isRequired));
    case "list":
      return isRequired ? Array.from({ length: node.minItems }, () => initialDraft(node.item)) : [];
    case "choices":
      return [];
    case "variants": {
      const [first] = node.variants;
      return isRequired && first ? { variant: 0, draft: initialDraft(first) } : { variant: -1, draft: "" };
    }
    case "constant":
      return isRequired ? "0" : "";
    case "boolean":
      return isRequired && !node.isNullable ? "false" : "";
    default:
      return "";
  }
}

/** The draft for which `draftValue` returns this value; undefined if the form cannot express it. */
export function draftOf(node: FormNode, value: unknown, isRequired = true): Draft | undefined {
  const draft = draftFor(node, value);
  return draft !== undefined && isEqual(draftValue(node, draft, isRequired).value, value) ? draft : undefined;
}

/** The closest draft of a value. */
function draftFor(node: FormNode, value: unknown): Draft | undefined {
  switch (node.kind) {
    case "group": {
      if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
      const drafts = node.fields.map(({ name, node: field }) =>
        Object.hasOwn(value, name) ? draftFor(field, (value as Record<string, unknown>)[name]) : emptyDraft(field),
      );
      return drafts.every((draft) => draft !== undefined) ? drafts : undefined;
    }
    case "list": {
      if (!Array.isArray(value) || value.length > node.maxItems) return undefined;
      const drafts = value.map((item) => draftFor(node.item, item));
      return drafts.every((draft) => draft !== undefined) ? drafts : undefined;
    }
    case "choices":
      return Array.isArray(value) ? value.map((item) => indexOf(node.options, item)) : undefined;
    case "variants": {
      const variant = node.variants.findIndex((each) => draftOf(each, value) !== undefined);
      const draft = node.variants[variant] === undefined ? "" : draftFor(node.variants[variant], value);
      return draft === undefined ? undefined : { variant, draft };
    }
    default:
      return textOf(node, value);
  }
}

function textOf(node: FormNode, value: unknown): string | undefined {
  switch (node.kind) {
    case "text":
      return typeof value === "string" ? value : "";
    case "number":
    case "boolean":
      return value === null ? "" : String(value);
    case "constant":
      return isEqual(node.value, value) ? "0" : "";
    case "choice":
      return indexOf(node.options, value);
    default:
      return jsonText(value);
  }
}

/** A value as indented JSON; undefined if it is too large or too deep for a field. */
export function jsonText(value: unknown): string | undefined {
  try {
    const text = JSON.stringify(value, null, 2);
    return text === undefined || text.length > maxTextLength ? undefined : text;
  } catch {
    return undefined;
  }
}

/** The index of the option with this value, or an empty string. */
function indexOf(options: NodeOf<"choice">["options"], value: unknown): string {
  const index = options.findIndex((option) => isEqual(option.value, value));
  return index < 0 ? "" : String(index);
}

const maxComparedDepth = 100;

/** Whether two JSON values are the same, whatever the order of their members. */
function isEqual(one: unknown, other: unknown, depth = 0): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (depth > maxComparedDepth || Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every(
      (name) =>
        Object.hasOwn(other, name) &&
        isEqual((one as Record<string, unknown>)[name], (other as Record<string, unknown>)[name], depth + 1),
    )
  );
}
