import { readReadme } from "./configuration-file.js";
import type { Entry } from "./entry.js";
import { quoteName, type Report } from "./finding.js";
import { type NeededPermissions, speaksOfPermissions } from "./permission-table.js";
import type { VariableUse } from "./substitute-entry.js";

/** Finds what the README of a plugin should say and does not. Without a README there is nothing to find. */
export async function judgeDocumentation(
  entries: readonly Entry[],
  uses: readonly VariableUse[],
  permissions: readonly NeededPermissions[],
  pluginRoot: string,
  report: Report,
): Promise<void> {
  const readme = await readReadme(pluginRoot);
  if (readme === undefined) return;
  const named = new Set<string>();
  for (const { variable, server } of uses) {
    const entry = entries.find(({ name }) => name === server);
    if (entry === undefined || named.has(variable) || new RegExp(`\\b${variable}\\b`).test(readme)) continue;
    named.add(variable);
    const message = `README.md does not name ${variable}.`;
    report("variable-undocumented", "note", entry, message, "Put the table of variables into the README.");
  }
  const [first] = permissions;
  const entry = entries.find(({ name }) => name === first?.server);
  if (entry === undefined || speaksOfPermissions(readme)) return;
  const servers = permissions.map(({ server }) => quoteName(server)).join(", ");
  const message = `README.md says nothing of the permissions that the use of ${servers} needs.`;
  report("permissions-undocumented", "note", entry, message, "Put the table of permissions into the README.");
}
