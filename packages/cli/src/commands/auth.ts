import { printableText } from "@wirescope/channelz";
import type { CredentialDescription, OAuthDescription } from "@wirescope/tool-server";
import { formatJson } from "../output/json.js";
import type { Screen } from "../output/screen.js";
import { type Column, renderTable } from "../output/table.js";
import { formatRelative } from "../output/time.js";
import { defineServerCommand } from "../tool-server/define-server-command.js";
import { jsonOf } from "../tool-server/json-of.js";
import type { Command } from "./command.js";

interface Row {
  readonly name: string;
  readonly credential: CredentialDescription | undefined;
  readonly oauth: OAuthDescription | undefined;
  readonly problem: string | undefined;
}

/** Shows how servers are signed in to. */
export const authCommand: Command = defineServerCommand({
  name: "auth",
  summary: "show how the servers are signed in to: as whom, with which permissions, until when",
  parameters: ["[server]"],
  options: {},
  notes: ["Nothing is connected to, and no token is ever shown."],
  async use({ servers, screen, values, positionals }) {
    const { ToolServerError } = await import("@wirescope/tool-server");
    const rows: Row[] = [];
    for (const name of servers.namesOf(positionals[0])) {
      try {
        const { facts } = await servers.open(name);
        const oauth = await (await servers.oauth(name))?.status();
        rows.push({ name, credential: facts.credential(), oauth, problem: undefined });
      } catch (error) {
        if (!ToolServerError.is(error) || positionals.length > 0) throw error;
        rows.push({ name, credential: undefined, oauth: undefined, problem: error.message });
      }
    }
    const vault = servers.vault.describe();
    if (values.json) {
      const all = Object.fromEntries(rows.map(({ name, ...row }) => [name, row]));
      screen.print(formatJson(jsonOf({ vault, servers: all })));
      return 0;
    }
    screen.print(printableText(vault.warning ?? vault.summary));
    screen.print("");
    screen.printAll(renderTable(columns(screen), rows, screen.width));
    return 0;
  },
});

function columns({ palette, now }: Screen): Column<Row>[] {
  const ago = (ms: number | undefined): string => (ms === undefined ? "-" : formatRelative(new Date(ms), now));
  return [
    { title: "SERVER", least: 8, text: ({ name }) => name, paint: () => palette.strong },
    {
      title: "SIGN-IN",
      least: 14,
      text: signInText,
      paint: ({ oauth, problem }) =>
        problem !== undefined || oauth?.isSignedIn === false ? palette.warning : palette.good,
    },
    { title: "AS", least: 8, text: ({ oauth }) => oauth?.account ?? "-" },
    { title: "EXPIRES", text: ({ oauth }) => ago(oauth?.expiresAt) },
    { title: "OBTAINED", text: ({ oauth }) => ago(oauth?.obtainedAt) },
    { title: "PERMISSIONS", least: 10, text: ({ oauth }) => oauth?.scopes?.join(" ") || "-" },
    { title: "WITH", least: 12, text: ({ oauth }) => oauth?.issuer ?? "-" },
  ];
}

function signInText({ credential, oauth, problem }: Row): string {
  if (problem !== undefined) return problem;
  if (oauth === undefined) return credential?.summary ?? "-";
  return oauth.isSignedIn ? "signed in" : "not signed in";
}
