import type { FormNode, NodeOf } from "./form-node.js";

/**
 * The input of a form, in the shape of its nodes: a string for a field (empty if nothing is set; the index of the option for
 * a choice), a list for lists, groups and several choices, and the chosen variant with its draft.
 */
export type Draft = string | readonly Draft[] | VariantDraft;

export interface VariantDraft {
  /** -1 if none is chosen. */
  readonly variant: number;
  readonly draft: Draft;
}

/** A validation error, with the JSON pointer of the value. */
export interface FormProblem {
  readonly pointer: string;
  readonly message: string;
}

/** The value of a draft; undefined if nothing is set. */
export interface DraftValue {
  readonly value: unknown;
  readonly problems: readonly FormProblem[];
}

/** The value of a draft. A draft that does not fit the node counts as empty. */
export function draftValue(node: FormNode, draft: Draft, isRequired = true, pointer = ""): DraftValue {
  switch (node.kind) {
    case "group":
      return groupValue(node, Array.isArray(draft) ? draft : [], isRequired, pointer);
    case "list": {
      const drafts: readonly Draft[] = Array.isArray(draft) ? draft : [];
      const items = drafts.map((item, index) => draftValue(node.item, item, true, `${pointer}/${index}`));
      const problems = items.flatMap((item) => item.problems);
      return { value: items.length === 0 && !isRequired ? undefined : items.map(({ value }) => value), problems };
    }
    case "choices": {
      const chosen = (Array.isArray(draft) ? draft : []).flatMap((index) => node.options[Number(index)] ?? []);
      return { value: chosen.length === 0 && !isRequired ? undefined : chosen.map(({ value }) => value), problems: [] };
    }
    case "variants": {
      const { variant, draft: inner } = isVariantDraft(draft) ? draft : { variant: -1, draft: "" };
      const chosen = node.variants[variant];
      return chosen === undefined ? emptyValue(node, isRequired, pointer) : draftValue(chosen, inner, true, pointer);
    }
    default: {
      const text = typeof draft === "string" ? draft : "";
      if (text === "") return emptyValue(node, isRequired, pointer);
      const read = readText(node, text);
      return "problem" in read
        ? { value: undefined, problems: [{ pointer, message: read.problem }] }
        : { value: read.value, problems: [] };
    }
  }
}

function groupValue(node: NodeOf<"group">, drafts: readonly Draft[], isRequired: boolean, pointer: string): DraftValue {
  const members = node.fields.map(({ name, isRequired: isFieldRequired, node: field }, index) => ({
    name,
    ...draftValue(field, drafts[index] ?? emptyDraft(field), isFieldRequired, `${pointer}/${escapeStep(name)}`),
  }));
  const set = members.filter(({ value }) => value !== undefined);
  const isTouched = isRequired || drafts.some((draft, index) => isFilled(node.fields[index]?.node, draft));
  if (!isTouched) return { value: undefined, problems: [] };
  return {
    value: Object.fromEntries(set.map(({ name, value }) => [name, value])),
    problems: members.flatMap(({ problems }) => problems),
  };
}

/** Whether the user or a default filled in a draft; values that only its shape requires do not count. */
function isFilled(node: FormNode | undefined, draft: Draft): boolean {
  if (node === undefined || node.kind === "constant") return false;
  if (node.kind === "boolean") return draft === "true" || (draft === "false" && node.default !== undefined);
  if (node.kind === "group") {
    return Array.isArray(draft) && draft.some((inner, index) => isFilled(node.fields[index]?.node, inner));
  }
  if (isVariantDraft(draft))
    return isFilled(node.kind === "variants" ? node.variants[draft.variant] : undefined, draft.draft);
  return draft.length > 0;
}

export const requiredMessage = "Required.";

export function emptyDraft(node: FormNode): Draft {
  if (node.kind === "group") return node.fields.map(({ node: field }) => emptyDraft(field));
  if (node.kind === "list" || node.kind === "choices") return [];
  return node.kind === "variants" ? { variant: -1, draft: "" } : "";
}

function emptyValue(node: FormNode, isRequired: boolean, pointer: string): DraftValue {
  if (!isRequired) return { value: undefined, problems: [] };
  if (node.isNullable) return { value: null, problems: [] };
  return { value: undefined, problems: [{ pointer, message: requiredMessage }] };
}

const numberPattern = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

function readText(node: FormNode, text: string): { readonly value: unknown } | { readonly problem: string } {
  switch (node.kind) {
    case "number": {
      const number = Number(text.trim());
      if (!numberPattern.test(text.trim()) || !Number.isFinite(number)) return { problem: "Enter a number." };
      if (node.isInteger && !Number.isInteger(number)) return { problem: "Enter a whole number." };
      if (Number.isInteger(number) && !Number.isSafeInteger(number) && /^[+-]?\d+$/.test(text.trim())) {
        return { problem: "This number has too many digits to be sent exactly." };
      }
      return { value: number };
    }
    case "boolean":
      return { value: text === "true" };
    case "constant":
      return { value: node.value };
    case "choice": {
      const option = node.options[Number(text)];
      return option === undefined ? { problem: "Select a value." } : { value: option.value };
    }
    case "json":
      try {
        return { value: JSON.parse(text) };
      } catch (error) {
        return { problem: `Not valid JSON: ${error instanceof Error ? error.message : String(error)}` };
      }
    default:
      return { value: text };
  }
}

export function isVariantDraft(draft: Draft): draft is VariantDraft {
  return typeof draft === "object" && "variant" in draft;
}

/** One step of a JSON pointer (RFC 6901). */
export function escapeStep(step: string): string {
  return step.replaceAll("~", "~0").replaceAll("/", "~1");
}
