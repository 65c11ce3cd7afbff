import type { TextField } from "./entry.js";
import type { Report } from "./finding.js";
import { literalOf, pluginRootVariable, variablesOf } from "./template.js";

/**
 * Holds the variables of a field against how they are written and where they may stand. `bridgeVariables` are the names in env of an
 * entry that runs `wirescope bridge`, which replaces `$NAME` in its arguments itself: so a token does not become an argument.
 */
export function judgeTemplate(field: TextField, report: Report, bridgeVariables?: ReadonlySet<string>): void {
  if (field.template.isLiteral) return;
  for (const reason of new Set(field.template.malformed)) {
    report(
      "variable-malformed",
      "error",
      field,
      `${field.field} has a \${ that refers to no variable: ${reason}.`,
      "Write ${NAME} or ${NAME:-default}; no ${ is ever sent as it stands.",
    );
  }
  const literal = literalOf(field.template);
  const bare = /(?:^|\s)\$([A-Z_][A-Z0-9_]*)\b/.exec(literal)?.[1];
  if (bare !== undefined && bridgeVariables !== undefined && field.field.startsWith("args[")) {
    if (!bridgeVariables.has(bare)) {
      const message = `${field.field} has $${bare}, which the bridge takes from its environment, and env does not give it.`;
      report("variable-malformed", "error", field, message, `Add "env": {"${bare}": "\${${bare}}"} to the entry.`);
    }
  } else if (bare !== undefined) {
    const message = `${field.field} has $${bare}, which is sent as it stands.`;
    report("variable-malformed", "error", field, message, `Write \${${bare}}.`);
  }
  const percent = /%([A-Z_][A-Z0-9_]{2,})%/.exec(literal)?.[1];
  if (percent !== undefined) {
    const message = `${field.field} has %${percent}%, the form of Windows, which is sent as it stands.`;
    report("variable-malformed", "error", field, message, `Write \${${percent}}, which works on every system.`);
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
