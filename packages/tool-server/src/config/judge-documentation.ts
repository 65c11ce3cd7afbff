import { commandLine } from "../command-line.js";
import type { PluginDocument } from "./documents.js";
import type { Entry } from "./entry.js";
import { quoteName, type Report } from "./finding.js";
import { type NeededPermissions, speaksOfPermissions } from "./permission-table.js";
import type { VariableUse } from "./substitute-entry.js";

/** Finds what the README of a plugin, or its folder of documentation, should say and does not. */
export function judgeDocumentation(
  entries: readonly Entry[],
  uses: readonly VariableUse[],
  permissions: readonly NeededPermissions[],
  documents: readonly PluginDocument[],
  report: Report,
): void {
  const [entry] = entries;
  if (entry === undefined) return;
  const texts = documents.filter(({ kind }) => kind !== "other").map(({ text }) => text);
  if (!documents.some(({ kind }) => kind === "readme")) {
    const message = "The plugin has no README that can be read, to say which variables and permissions it needs.";
    const place = { path: [], line: 1, column: 1 };
    const fix = `Write a README.md in the plugin's root, with the tables that ${commandLine("check")} prints.`;
    report("readme-missing", uses.length > 0 ? "warning" : "note", place, message, fix);
    if (texts.length === 0) return;
  }
  const named = new Set<string>();
  for (const { variable, server } of uses) {
    const user = entries.find(({ name }) => name === server);
    const pattern = new RegExp(`\\b${variable}\\b`);
    if (user === undefined || named.has(variable) || texts.some((text) => pattern.test(text))) continue;
    named.add(variable);
    const message = `Neither the README nor the docs name ${variable}.`;
    report("variable-undocumented", "warning", user, message, "Put the table of variables into the README.");
  }
  const first = entries.find(({ name }) => name === permissions[0]?.server);
  if (first === undefined || texts.some(speaksOfPermissions)) return;
  const servers = permissions.map(({ server }) => quoteName(server)).join(", ");
  const message = `Neither the README nor the docs say which permissions the use of ${servers} needs.`;
  report("permissions-undocumented", "note", first, message, "Add the table of permissions to the README.");
}
