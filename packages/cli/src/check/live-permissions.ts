import {
  type CheckReport,
  type Entry,
  type Finding,
  type NeededPermissions,
  scopesUndocumented,
} from "@wirescope/tool-server/config";
import type { Explanation } from "@wirescope/tool-server/why";

/** The permissions of a report, with those that the servers named when they were walked. */
export function withScopes(
  permissions: readonly NeededPermissions[],
  explanations: readonly Explanation[],
): NeededPermissions[] {
  return permissions.map((needed) => ({
    ...needed,
    scopes: explanations.find(({ server }) => server === needed.server)?.permissions,
  }));
}

/** What a README does not name of them; nothing where there is none, and where the report has found that it names none at all. */
export function judgeScopes(
  report: CheckReport,
  permissions: readonly NeededPermissions[],
  entries: readonly Entry[],
  readme: string | undefined,
): Finding[] {
  if (readme === undefined || report.findings.some(({ code }) => code === "permissions-undocumented")) return [];
  return permissions.flatMap((needed): Finding[] => {
    const entry = entries.find(({ name }) => name === needed.server);
    const missing = scopesUndocumented(needed, readme).map((scope) => JSON.stringify(scope));
    if (entry === undefined || missing.length === 0) return [];
    const { path, line, column, name } = entry;
    return [
      {
        code: "permissions-undocumented",
        severity: "note",
        message: `README.md does not mention ${missing.join(", ")}, which the server ${JSON.stringify(name)} requires.`,
        fix: "Add the table of permissions to the README.",
        path,
        line,
        column,
        server: name,
      },
    ];
  });
}
