import type { Entry } from "./entry.js";
import { cellOf, codeCellOf, markdownTable } from "./markdown-table.js";
import { variableUses } from "./substitute-entry.js";
import { usesOAuth } from "./uses-oauth.js";

/** That the use of a server has to be permitted to somebody, and how that is shown to the server. */
export interface NeededPermissions {
  readonly server: string;
  /** By OAuth, should the server ask; with secrets of the user; or with what a helper brings. */
  readonly by: "oauth" | "variables" | "helper";
  /** The variables that hold the secrets. */
  readonly variables: readonly string[];
  /** The permissions, where the server named them; undefined where nobody asked it, or it names none. */
  readonly scopes: readonly string[] | undefined;
}

/** What has to be permitted, for each entry that signs in or brings a secret, in the order of the file. No server is asked. */
export function neededPermissions(entries: readonly Entry[]): NeededPermissions[] {
  return entries.flatMap((entry): NeededPermissions[] => {
    const { name: server } = entry;
    const secret = variableUses(entry).filter(({ isSecret }) => isSecret);
    const variables = [...new Set(secret.map(({ variable }) => variable))];
    if (usesOAuth(entry)) return [{ server, by: "oauth", variables, scopes: undefined }];
    if (entry.type !== "stdio" && entry.headersHelper !== undefined)
      return [{ server, by: "helper", variables, scopes: undefined }];
    return variables.length === 0 ? [] : [{ server, by: "variables", variables, scopes: undefined }];
  });
}

/** The permissions as a table of Markdown, for the README of a plugin. What is not known is `…`, for its author to fill in. */
export function permissionsToMarkdown(permissions: readonly NeededPermissions[]): string[] {
  const rows = permissions.map(({ server, by, variables, scopes = [] }) => {
    const secrets = variables.map(codeCellOf).join(", ");
    const way = { oauth: "by OAuth", helper: "by a helper", variables: `with ${secrets}` }[by];
    return [cellOf(server), way, scopes.length === 0 ? "…" : scopes.map(codeCellOf).join(", ")];
  });
  return markdownTable(["Server", "Signs in", "Permissions"], rows);
}

/** Whether a README speaks of permissions at all. */
export function speaksOfPermissions(readme: string): boolean {
  return /\b(?:permissions?|scopes?)\b/i.test(readme);
}

/** The permissions that a README does not name. */
export function scopesUndocumented({ scopes = [] }: NeededPermissions, readme: string): string[] {
  // Not within a longer one: `notes:read` is not named by `notes:readwrite`.
  const isNamed = (scope: string): boolean =>
    new RegExp(`(?<![\\w:./-])${scope.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?![\\w:/-]|\\.\\w)`).test(readme);
  return scopes.filter((scope) => !isNamed(scope));
}
