import { sep } from "node:path";

/** A string with variable references. */
export interface Template {
  /** The string as written. */
  readonly text: string;
  readonly parts: readonly TemplatePart[];
  /** The malformed references, in order. */
  readonly malformed: readonly MalformedReference[];
  /** Whether the text comes from code and not from a file: then nothing in it is meant as a variable. Default false. */
  readonly isLiteral?: boolean | undefined;
}

/** Why a reference is invalid, and what to write instead. */
export interface MalformedReference {
  readonly reason: string;
  readonly fix: string;
}

/** A part of a template. */
export type TemplatePart = { readonly kind: "text"; readonly text: string } | VariableReference;

/** `${NAME}`, `${env:NAME}` or `${NAME:-default}`, and the references that other programs have. */
export interface VariableReference {
  readonly kind: "variable";
  /** The name of the variable; `input:` and the id for a value that a user is asked for. */
  readonly name: string;
  /** The value to use if the variable is unset or empty. */
  readonly fallback: string | undefined;
  /** Another program's name for the plugin root, if the reference uses it: it is then available in every field. */
  readonly spelling?: string | undefined;
  /** Whether the file says that the value is a secret. Default: the field and the name decide. */
  readonly isSecret?: boolean | undefined;
  /** The only values that an input may have. Default: any. */
  readonly choices?: readonly string[] | undefined;
}

/** The syntax of variables. */
export interface TemplateSyntax {
  /** What is a variable in addition to `${NAME}`: `shell` is `$NAME`, `braces` is `{env:NAME}`. Default: nothing. */
  readonly variables?: "shell" | "braces" | undefined;
  /** The definitions of inputs in the file, by id. Default: none. */
  readonly inputs?: ReadonlyMap<string, Pick<VariableReference, "isSecret" | "choices">> | undefined;
}

/** The variable with the root directory of the plugin or project. */
export const pluginRootVariable = "HOST_PLUGIN_ROOT";

/** Other programs' names for the plugin root. */
const rootSpellings: ReadonlySet<string> = new Set(["workspaceFolder", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PROJECT_DIR"]);

/** Variables that are known without a user: the home directory, and the last part of the plugin root. */
export const knownVariables: ReadonlySet<string> = new Set(["userHome", "workspaceFolderBasename"]);

/** Begins the name of a variable whose value a user is asked for. */
export const inputPrefix = "input:";

/** The variable that sets an input without a user, such as `INPUT_API_KEY` for `${input:api-key}`. */
export function inputVariable(name: string): string {
  return `INPUT_${name
    .slice(inputPrefix.length)
    .replace(/[^A-Za-z0-9]+/g, "_")
    .toUpperCase()}`;
}

/**
 * Marks a literal that is not a secret although its field or its shape suggests one: `${NOT_SECRET:-value}` is always `value`.
 * Because it is written as a variable with a default, other programs that read the file give it the same meaning.
 */
export const notSecretVariable = "NOT_SECRET";

const reference = String.raw`\$\{(?:input:([A-Za-z0-9_][\w.-]*)|(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?|(\/))\}`;

/** The references of each syntax; in the last group, the name of a variable that only this syntax has. */
const references = {
  plain: new RegExp(reference, "g"),
  shell: new RegExp(String.raw`${reference}|\$([A-Za-z_][A-Za-z0-9_]*)`, "g"),
  braces: new RegExp(String.raw`${reference}|\{env:([A-Za-z_][A-Za-z0-9_]*)\}`, "g"),
};

/** What starts a reference in each syntax. */
const starts = { plain: /\$\{/g, shell: /\$\{/g, braces: /\$\{|\{(?:env|file):/g };

/**
 * Parses the variable references of a string. A default ends at the first `}` and is literal. A `${` that does not start a reference is
 * malformed: there is no escape for it, so that a `${` is never sent.
 */
export function parseTemplate(text: string, { variables, inputs }: TemplateSyntax = {}): Template {
  const syntax = variables ?? "plain";
  const parts: TemplatePart[] = [];
  const malformed: MalformedReference[] = [];
  const addText = (piece: string): void => {
    if (piece === "") return;
    parts.push({ kind: "text", text: piece });
    for (const { index } of piece.matchAll(starts[syntax])) malformed.push(explain(piece.slice(index)));
  };
  let from = 0;
  for (const match of text.matchAll(references[syntax])) {
    const { index, 0: whole, 1: input, 2: braced, 3: fallback, 4: slash, 5: bare } = match;
    addText(text.slice(from, index));
    from = index + whole.length;
    if (slash !== undefined || braced === "pathSeparator") {
      parts.push({ kind: "text", text: sep });
      continue;
    }
    const name = input === undefined ? (braced ?? bare ?? "") : `${inputPrefix}${input}`;
    if (rootSpellings.has(name)) parts.push({ kind: "variable", name: pluginRootVariable, fallback, spelling: name });
    else parts.push({ kind: "variable", name, fallback, ...(input === undefined ? {} : inputs?.get(input)) });
    if (fallback?.includes("${")) malformed.push({ reason: "a default contains a variable", fix: howToWrite });
  }
  addText(text.slice(from));
  return { text, parts, malformed };
}

/** The references of a template, in order. */
export function variablesOf({ parts }: Template): VariableReference[] {
  return parts.filter((part) => part.kind === "variable");
}

export function renderParts({ parts }: Template, render: (variable: VariableReference) => string): string {
  return parts.map((part) => (part.kind === "text" ? part.text : render(part))).join("");
}

/** The string of a template without its references. */
export function literalOf(template: Template): string {
  return renderParts(template, () => "");
}

const howToWrite = "Write ${NAME} or ${NAME:-default}. A ${ is never sent literally.";

function explain(rest: string): MalformedReference {
  if (rest.startsWith("{file:")) {
    const reason = "{file:…} is possible only at the end of a header, of a variable of the process, or of clientSecret";
    return { reason, fix: "Write {env:NAME}, and set the variable." };
  }
  if (rest.startsWith("{env:")) {
    return { reason: "a name can contain only letters, digits and _", fix: "Write {env:NAME}." };
  }
  return { reason: reasonOf(rest), fix: howToWrite };
}

function reasonOf(rest: string): string {
  const end = rest.indexOf("}");
  if (end === -1) return "a ${ has no closing }";
  if (end === 2) return "${} has no name";
  return "a name can contain only letters, digits and _, and can be followed only by :- and a default";
}
