import { literalOf, pluginRootVariable, variablesOf } from "../substitution/template.js";
import type { TextField } from "./entry.js";
import type { Report } from "./finding.js";

/** Holds the variables of a field against how they are written and where they may stand. */
export function judgeTemplate(field: TextField, report: Report): void {
  for (const reason of new Set(field.template.malformed)) {
    report(
      "variable-malformed",
      "error",
      field,
      `${field.field} has a \${ that refers to no variable: ${reason}.`,
      "Write ${NAME} or ${NAME:-default}; no ${ is ever sent as it stands.",
    );
  }
  const bare = /(?:^|\s)\$([A-Z_][A-Z0-9_]*)\b/.exec(literalOf(field.template))?.[1];
  if (bare !== undefined) {
    const message = `${field.field} has $${bare}, which is sent as it stands.`;
    report("variable-malformed", "error", field, message, `Write \${${bare}}.`);
  }
  for (const { name } of variablesOf(field.template)) {
    if (isReserved(name)) {
      const message = `${field.field} asks for ${name}, which is for Wirescope alone: it may hold the key to all tokens.`;
      report("variable-reserved", "error", field, message, "Use a variable of another name.");
    } else if (name === pluginRootVariable) {
      if (!allowsPluginRoot(field.field)) {
        const message = `${pluginRootVariable} is not available in ${field.field}.`;
        report("variable-misplaced", "error", field, message, "Use it in command, args or headersHelper.");
      }
    } else if (isProgram(field.field)) {
      report(
        "variable-misplaced",
        "warning",
        field,
        `${name} decides which program is run.`,
        `Start the path with \${${pluginRootVariable}}, or write it out.`,
      );
    }
  }
}

/** Whether the plugin's root is available in a field. */
export function allowsPluginRoot(field: string): boolean {
  return isProgram(field) || field.startsWith("args[");
}

/** Whether a variable is one of Wirescope itself, such as the key of the vault. No entry gets it. */
export function isReserved(name: string): boolean {
  return name.toUpperCase().startsWith("WIRESCOPE_");
}

function isProgram(field: string): boolean {
  return field === "command" || field === "headersHelper";
}
