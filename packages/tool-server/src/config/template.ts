/** A text with references to variables in it. */
export interface Template {
  /** The text as it was written. */
  readonly text: string;
  readonly parts: readonly TemplatePart[];
  /** What was meant as a reference and is none, in order. */
  readonly malformed: readonly string[];
  /** Whether the text comes from code and not from a file: then nothing in it is meant as a variable. Default false. */
  readonly isLiteral?: boolean | undefined;
}

/** A piece of a template. */
export type TemplatePart = { readonly kind: "text"; readonly text: string } | VariableReference;

/** `${NAME}` or `${NAME:-default}`. */
export interface VariableReference {
  readonly kind: "variable";
  readonly name: string;
  /** What counts where the variable is unset or empty. */
  readonly fallback: string | undefined;
}

/** The variable that holds the plugin's root directory. */
export const pluginRootVariable = "HOST_PLUGIN_ROOT";

/**
 * Marks a literal that is not a secret although its field or its shape suggests one: `${NOT_SECRET:-value}` is always `value`.
 * Written as a variable with a default, it means the same to other programs that read the file.
 */
export const notSecretVariable = "NOT_SECRET";

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Reads the references of a text. A default ends at the first `}` and is taken as it is. A `${` that starts no reference is
 * malformed: there is no way to write one that stays, so that none is ever sent.
 */
export function parseTemplate(text: string): Template {
  const parts: TemplatePart[] = [];
  const malformed: string[] = [];
  const addText = (piece: string): void => {
    if (piece === "") return;
    parts.push({ kind: "text", text: piece });
    for (const { index } of piece.matchAll(/\$\{/g)) malformed.push(reasonOf(piece.slice(index)));
  };
  let from = 0;
  for (const { index, 0: whole, 1: name = "", 2: fallback } of text.matchAll(reference)) {
    addText(text.slice(from, index));
    parts.push({ kind: "variable", name, fallback });
    if (fallback?.includes("${")) malformed.push("a default refers to a variable");
    from = index + whole.length;
  }
  addText(text.slice(from));
  return { text, parts, malformed };
}

/** The references of a template, in order. */
export function variablesOf({ parts }: Template): VariableReference[] {
  return parts.filter((part) => part.kind === "variable");
}

/** The text of a template without its references. */
export function literalOf({ parts }: Template): string {
  return parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}

function reasonOf(rest: string): string {
  const end = rest.indexOf("}");
  if (end === -1) return "a ${ has no }";
  if (end === 2) return "${} has no name";
  return "a name has other characters than letters, digits and _, or something other than :- follows it";
}
