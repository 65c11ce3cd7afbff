import { printableText } from "@wirescope/channelz/printable-text";
import type { OAuthDescription } from "@wirescope/tool-server";
import type { AuthRow } from "../admin/auth-rows.js";
import type { Io } from "../io.js";
import { type Field, renderFields } from "../output/fields.js";
import { formatJson } from "../output/json.js";
import type { Screen } from "../output/screen.js";
import { reasonText } from "../output/server-status.js";
import { type Column, renderTable } from "../output/table.js";
import { formatRelative, formatTime } from "../output/time.js";
import { jsonOf } from "../tool-server/json-of.js";
import type { Command } from "./command.js";
import { defineServerCommand } from "./define-server-command.js";

/** Shows how servers are signed in to. */
export const authCommand: Command = defineServerCommand({
  name: "auth",
  summary: "show how the servers are signed in to: as whom, with which permissions, until when",
  parameters: ["[server]"],
  options: {},
  notes: ["Nothing is connected to, and no token is ever shown."],
  async use({ servers, screen, io, values, positionals }) {
    const { oauthSummary, ToolServerError } = await import("@wirescope/tool-server");
    const rows: AuthRow[] = [];
    for (const name of servers.namesOf(positionals[0])) {
      try {
        const { facts } = await servers.open(name);
        const oauth = await (await servers.oauth(name))?.status();
        const { kind, summary } = facts.credential();
        // The connection has not looked into the vault, so what it says of the sign-in is older.
        rows.push({ name, credential: { kind, summary: oauth === undefined ? summary : oauthSummary(oauth) }, oauth });
      } catch (error) {
        if (!ToolServerError.is(error) || positionals.length > 0) throw error;
        rows.push({ name, problem: error });
      }
    }
    const vault = servers.vault.describe();
    const head = { json: { vault }, line: vault.warning ?? vault.summary };
    return tell(rows, head, { screen, io, isJson: values.json, isOne: positionals.length > 0 });
  },
  through: {
    isChange: false,
    async use({ gateway, screen, io, values, positionals }) {
      const { authRows } = await import("../admin/auth-rows.js");
      const rows = await authRows(gateway, positionals[0]);
      const head = { json: { gateway: gateway.url }, line: `As the gateway at ${gateway.url} has it.` };
      return tell(rows, head, { screen, io, isJson: values.json, isOne: positionals.length > 0 });
    },
  },
});

function tell(
  rows: readonly AuthRow[],
  head: { readonly json: object; readonly line: string },
  { screen, io, isJson, isOne }: { screen: Screen; io: Io; isJson: boolean; isOne: boolean },
): number {
  const problems = rows.flatMap(({ problem }) => problem?.message ?? []);
  if (isJson) {
    const all = Object.fromEntries(
      rows.map(({ name, problem, ...row }) => [name, { ...row, problem: problem?.message, code: problem?.code }]),
    );
    screen.print(formatJson(jsonOf({ ...head.json, servers: all })));
  } else {
    screen.print(printableText(head.line));
    screen.print("");
    const [only] = rows;
    if (isOne && only !== undefined) screen.printAll(renderFields(fieldsOf(only, screen), screen, ""));
    else screen.printAll(renderTable(columns(screen), rows, screen.width));
    for (const problem of problems) io.stderr.write(`wirescope: ${printableText(problem)}\n`);
  }
  return problems.length > 0 ? 1 : 0;
}

function columns({ palette, now }: Screen): Column<AuthRow>[] {
  const ago = (ms: number | undefined): string => (ms === undefined ? "-" : formatRelative(new Date(ms), now));
  const isWell = ({ problem, oauth }: AuthRow): boolean =>
    problem === undefined && oauth?.isSignedIn !== false && !hasEnded(oauth, now);
  return [
    { title: "SERVER", least: 8, text: ({ name }) => name, paint: () => palette.strong },
    {
      title: "SIGN-IN",
      least: 14,
      text: (row) => signInText(row, now),
      paint: (row) => (isWell(row) ? palette.good : palette.warning),
    },
    { title: "AS", least: 8, text: ({ oauth }) => oauth?.account ?? "-" },
    { title: "EXPIRES", text: ({ oauth }) => ago(oauth?.expiresAt) },
    { title: "RENEWED", text: ({ oauth }) => ago(oauth?.obtainedAt) },
    { title: "PERMISSIONS", least: 10, text: ({ oauth }) => oauth?.scopes?.join(" ") || "-" },
    { title: "WITH", least: 12, text: ({ oauth }) => oauth?.issuer ?? "-" },
  ];
}

/** All about one server, nothing cut. */
function fieldsOf(row: AuthRow, { now }: Screen): Field[] {
  const { name, oauth } = row;
  const time = (ms: number | undefined, none: string): string =>
    ms === undefined ? none : formatTime(new Date(ms), now);
  const fields: Field[] = [
    ["server", name],
    ["sign-in", signInText(row, now)],
  ];
  if (oauth === undefined) return fields;
  fields.push(["with", oauth.issuer ?? "not known yet"]);
  if (!oauth.isSignedIn) return fields;
  fields.push(
    ["as", oauth.account ?? "the authorization server does not say"],
    ["permissions", oauth.scopes?.join(" ") || "not told"],
    ["expires", time(oauth.expiresAt, "not told: it is used until it is refused")],
    ["renewed", time(oauth.obtainedAt, "-")],
    ["renews itself", oauth.canRefresh ? "yes" : "no: then you sign in again"],
    ["token", oauth.tokenType === "DPoP" ? "bound to a key (DPoP)" : "Bearer"],
  );
  return fields;
}

function signInText({ credential, oauth, problem }: AuthRow, now: Date): string {
  if (problem !== undefined) return problem.code === undefined ? "not connected" : reasonText(problem.code);
  if (oauth === undefined) return credential?.summary ?? "-";
  if (!oauth.isSignedIn) return "not signed in";
  return hasEnded(oauth, now) ? "expired" : "signed in";
}

/** Whether a token is over that cannot be renewed. It is sent all the same: the server has the last word. */
function hasEnded(oauth: OAuthDescription | undefined, now: Date): boolean {
  return oauth?.expiresAt !== undefined && oauth.expiresAt <= now.getTime() && !oauth.canRefresh;
}
