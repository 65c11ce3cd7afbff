import { printableText } from "@wirescope/channelz/internal";
import { formatRelative, formatTime } from "@wirescope/channelz/internal/text";
import type { ServerReport } from "@wirescope/gateway/internal";
import { reasonText, type StatusFailure } from "@wirescope/gateway/internal/status-text";
import type { CredentialDescription, OAuthDescription } from "@wirescope/tool-server/auth";
import { formatJson, jsonOf } from "../output/json.js";
import type { Screen } from "../output/screen.js";
import { type Column, type Field, renderFields, renderTable } from "../output/table.js";
import { serverOptions } from "../tool-server/server-options.js";
import type { Command } from "./command.js";
import { defineAdminCommand } from "./define-admin-command.js";

/** Shows the sign-in status of servers. */
export const authCommand: Command = defineAdminCommand({
  name: "auth",
  summary: "show the sign-in status of the servers: account, scopes, expiry",
  parameters: ["[server|url]"],
  serverAt: 0,
  options: serverOptions,
  notes: ["It connects to no server and never prints a token."],
  isChange: () => false,
  async use({ admin, screen, values, positionals }) {
    const rows = (await admin.list(positionals[0])).map(rowOf);
    const problems = rows.flatMap(({ problem }) => problem?.message ?? []);
    const whose = await admin.describe();
    if (values.json) {
      const servers = rows.map(({ name, problem, ...row }) => [
        name,
        { ...row, problem: problem?.message, code: problem?.code },
      ]);
      screen.print(formatJson(jsonOf({ ...whose, servers: Object.fromEntries(servers) })));
    } else {
      const line =
        "gateway" in whose
          ? `Sign-ins of the gateway at ${whose.gateway}.`
          : (whose.vault.warning ?? whose.vault.summary);
      screen.print(printableText(line));
      screen.print("");
      const [only] = rows;
      if (positionals.length > 0 && only !== undefined)
        screen.printAll(renderFields(fieldsOf(only, screen), screen, ""));
      else screen.printAll(renderTable(columns(screen), rows, screen.width));
      for (const problem of problems) admin.io.stderr.write(`wirescope: ${printableText(problem)}\n`);
    }
    return problems.length > 0 ? 1 : 0;
  },
});

/** The sign-in status of one server. */
interface AuthRow {
  readonly name: string;
  readonly credential?: Pick<CredentialDescription, "kind" | "summary"> | undefined;
  readonly oauth?: OAuthDescription | undefined;
  readonly problem?: (StatusFailure & { readonly message: string }) | undefined;
}

function rowOf({ name, credential, failure }: ServerReport): AuthRow {
  if (credential === undefined)
    return { name, problem: failure ?? { code: undefined, message: `${name} is not connected yet.` } };
  const { kind, summary, oauth } = credential;
  return { name, credential: { kind, summary }, oauth };
}

function columns({ palette, now }: Screen): Column<AuthRow>[] {
  const ago = (ms: number | undefined): string => (ms === undefined ? "-" : formatRelative(new Date(ms), now));
  const isWell = ({ problem, oauth }: AuthRow): boolean =>
    problem === undefined && oauth?.isSignedIn !== false && !isExpired(oauth, now);
  return [
    { title: "SERVER", minWidth: 8, text: ({ name }) => name, paint: () => palette.strong },
    {
      title: "SIGN-IN",
      minWidth: 14,
      text: (row) => signInText(row, now),
      paint: (row) => (isWell(row) ? palette.good : palette.warning),
    },
    { title: "ACCOUNT", minWidth: 8, text: ({ oauth }) => oauth?.account ?? "-" },
    { title: "EXPIRES", text: ({ oauth }) => ago(oauth?.expiresAt) },
    { title: "OBTAINED", text: ({ oauth }) => ago(oauth?.obtainedAt) },
    { title: "SCOPES", minWidth: 10, text: ({ oauth }) => oauth?.scopes?.join(" ") || "-" },
    { title: "ISSUER", minWidth: 12, text: ({ oauth }) => oauth?.issuer ?? "-" },
  ];
}

/** The details of one server, not truncated. */
function fieldsOf(row: AuthRow, { now }: Screen): Field[] {
  const { name, oauth } = row;
  const time = (ms: number | undefined, none: string): string =>
    ms === undefined ? none : formatTime(new Date(ms), now);
  const fields: Field[] = [
    ["server", name],
    ["sign-in", signInText(row, now)],
  ];
  if (oauth === undefined) return fields;
  fields.push(["issuer", oauth.issuer ?? "not known yet"]);
  if (!oauth.isSignedIn) return fields;
  fields.push(
    ["account", oauth.account ?? "not disclosed by the authorization server"],
    ["scopes", oauth.scopes?.join(" ") || "unknown"],
    ["expires", time(oauth.expiresAt, "unknown: used until the server rejects it")],
    ["obtained", time(oauth.obtainedAt, "-")],
    ["refresh token", oauth.canRefresh ? "yes" : "no: sign in again when the token expires"],
    ["token", oauth.tokenType === "DPoP" ? "bound to a key (DPoP)" : "Bearer"],
  );
  return fields;
}

function signInText({ credential, oauth, problem }: AuthRow, now: Date): string {
  if (problem !== undefined) return problem.code === undefined ? "not connected" : reasonText(problem);
  if (oauth === undefined) return credential?.summary ?? "-";
  if (!oauth.isSignedIn) return "not signed in";
  return isExpired(oauth, now) ? "expired" : "signed in";
}

/** Whether a token has expired and cannot be refreshed. It is still sent: the server decides. */
function isExpired(oauth: OAuthDescription | undefined, now: Date): boolean {
  return oauth?.expiresAt !== undefined && oauth.expiresAt <= now.getTime() && !oauth.canRefresh;
}
