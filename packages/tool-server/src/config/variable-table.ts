import { cellOf, codeCellOf, markdownTable } from "./markdown-table.js";
import type { VariableUse } from "./substitute-entry.js";

/** A variable that a plugin needs, and what for. */
export interface NeededVariable {
  readonly name: string;
  /** Whether some field has no default for it. */
  readonly isRequired: boolean;
  readonly isSecret: boolean;
  readonly uses: readonly { readonly server: string; readonly field: string }[];
}

/** The variables of a configuration, each once, in the order of the file. */
export function neededVariables(uses: readonly VariableUse[]): NeededVariable[] {
  return [...new Set(uses.map(({ variable }) => variable))].map((name) => {
    const own = uses.filter(({ variable }) => variable === name);
    return {
      name,
      isRequired: own.some(({ hasDefault }) => !hasDefault),
      isSecret: own.some(({ isSecret }) => isSecret),
      uses: own.map(({ server, field }) => ({ server, field })),
    };
  });
}

/** The variables as a table of Markdown, for the README of a plugin. */
export function variablesToMarkdown(variables: readonly NeededVariable[]): string[] {
  const rows = variables.flatMap(({ name, isRequired, isSecret, uses }) =>
    uses.map(({ server, field }) => [
      `\`${name}\``,
      cellOf(server),
      codeCellOf(field),
      isRequired ? "required" : "optional",
      isSecret ? "secret" : "",
    ]),
  );
  return markdownTable(["Variable", "Server", "Field", "Needed", "Kind"], rows);
}
