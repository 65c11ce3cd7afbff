import { printableText } from "@wirescope/channelz/internal";
import { ToolServerError } from "@wirescope/tool-server";
import {
  type CheckReport,
  type Entry,
  type Finding,
  type NeededPermissions,
  scopesUndocumented,
} from "@wirescope/tool-server/config";
import type { Cause, Explanation, Requirement } from "@wirescope/tool-server/why";
import type { Screen } from "../output/screen.js";
import { wrap } from "../output/text-layout.js";
import type { ExplainableServers } from "../why/explain-configured.js";
import { markOf } from "../why/render-explanation.js";

/** Diagnoses all servers of a configuration in parallel, except those that are disabled or no longer in it. */
export async function explainAll(servers: ExplainableServers): Promise<Explanation[]> {
  const names = servers.configuration.entries.filter(({ isDisabled }) => !isDisabled).map(({ name }) => name);
  const results = await Promise.allSettled(names.map((name) => servers.explain(name)));
  return results.flatMap((result) => {
    if (result.status === "fulfilled") return [result.value];
    if (ToolServerError.is(result.reason, "SERVER_UNKNOWN")) return [];
    throw result.reason;
  });
}

/** Whether a server meets all requirements. One that could not be diagnosed does not. */
export function isMet({ requirements }: Explanation): boolean {
  const outcomes = requirements.map(({ outcome }) => outcome);
  return outcomes.includes("ok") && !outcomes.includes("failed");
}

/** Possible improvements of each server, as findings at the fields to change. */
export function checkNotes(explanations: readonly Explanation[], entries: readonly Entry[]): Finding[] {
  return explanations.flatMap(({ server, notes }) => {
    const entry = entries.find(({ name }) => name === server);
    if (entry === undefined) return [];
    // An invalid tool is a requirement that is not met.
    const offers = notes.filter(({ code }) => code === "oauth-offered");
    return offers.map(
      ({ problem, fix: { advice, command, position = entry } }): Finding => ({
        code: "oauth-preferred",
        severity: "note",
        message: `${JSON.stringify(server)}: ${problem}`,
        fix: command === undefined ? advice : `${advice} Run: ${command}`,
        path: entry.path,
        line: position.line,
        column: position.column,
        server,
      }),
    );
  });
}

/** The requirements of each server as a checklist. */
export function renderLive(explanations: readonly Explanation[], screen: Screen): string[] {
  const { palette } = screen;
  return explanations.flatMap((explanation) => {
    const { server, type, requirements, causes } = explanation;
    const title = palette.strong(`${printableText(server)} (${type ?? "unknown"})`);
    const [cause] = causes;
    const next = isMet(explanation) || cause === undefined ? [] : renderNext(cause, screen);
    return ["", title, ...requirements.flatMap((requirement) => renderRequirement(requirement, screen)), ...next];
  });
}

function renderRequirement({ requirement, outcome, evidence }: Requirement, { palette, width }: Screen): string[] {
  const [first, ...rest] = evidence.map((line) => printableText(line));
  const head = `  ${markOf(outcome, palette)} ${requirement}`;
  const lines = outcome === "failed" ? [first, ...rest] : [first];
  return [head, ...lines.flatMap((line) => (line === undefined ? [] : wrap(line, width, "      ").map(palette.faint)))];
}

function renderNext({ problem, fix }: Cause, { palette, width }: Screen): string[] {
  return [
    ...wrap(printableText(problem), width, "  "),
    ...wrap(printableText(`→ ${fix.advice}`), width, "  ").map(palette.good),
    ...(fix.command === undefined ? [] : [`    ${palette.strong(printableText(fix.command))}`]),
  ];
}

/** The permissions of a report, with the scopes that the diagnoses found. */
export function withScopes(
  permissions: readonly NeededPermissions[],
  explanations: readonly Explanation[],
): NeededPermissions[] {
  return permissions.map((needed) => ({
    ...needed,
    scopes: explanations.find(({ server }) => server === needed.server)?.permissions,
  }));
}

/** Findings for scopes that the README does not mention; none without a README, or if the report already says that it mentions no scopes. */
export function checkScopes(
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
