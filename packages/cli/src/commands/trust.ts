import { printableText } from "@wirescope/channelz/internal";
import type { Approval, TrustRow } from "../admin/server-admin.js";
import type { Io } from "../io.js";
import { commonOptions } from "../options.js";
import { formatJson } from "../output/json.js";
import type { Screen } from "../output/screen.js";
import { type Column, renderTable } from "../output/table.js";
import { adminOptions, configurationOptions, serverOptions } from "../tool-server/server-options.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";
import { defineAdminCommand } from "./define-admin-command.js";

const options = {
  yes: { type: "boolean", help: "approve what is shown without asking" },
  revoke: { type: "boolean", help: "take the approval back" },
  json: { type: "boolean", help: "print JSON in place of text" },
  ...configurationOptions,
  "env-file": serverOptions["env-file"],
  ...adminOptions,
  ...commonOptions,
} as const;

/** Shows which entries may act, and approves one. */
export const trustCommand: Command = defineAdminCommand({
  name: "trust",
  summary: "show which servers of a configuration may act, and approve one",
  parameters: ["[server]"],
  options,
  notes: [
    "Where a gateway runs with the same configuration, it is asked, and tries the server at once.",
    "An approval is of the whole entry, of the files that it runs, and of the origin that its url leads to with your variables;",
    "a change asks again.",
    "It rests in wirescope/approvals.json of the user's configuration folder. A policy, of WIRESCOPE_POLICY or",
    "/etc/wirescope/policy.json, may allow or deny more. It exits with 1 where a server may not act.",
  ],
  isChange: ([name]) => name !== undefined,
  // An approval is taken back in the file that holds it; what a gateway has opened by then stays open.
  isLocal: ({ revoke }) => revoke,
  check(values, [name]) {
    if (name === undefined && (values.yes || values.revoke))
      throw new UsageError("trust needs the name of a server with --yes and --revoke.");
    if (values.revoke && values.endpoint)
      throw new UsageError("--revoke works on a configuration. Give --config in place of --endpoint.");
  },
  async use({ admin, screen, values, positionals, local }) {
    const [name] = positionals;
    if (name === undefined) return tell(await admin.approvals(), screen, values.json);
    if (values.revoke) {
      const had = await (await local()).revoke(name);
      const reason = had ? `${name} is not approved any more.` : `${name} was not approved.`;
      screen.print(values.json ? formatJson({ [name]: { state: "new", reason } }) : reason);
      return 0;
    }
    const approval = await admin.approval(name);
    // What is trusted for a run can still be approved for good, in the configuration.
    const isLasting = values.endpoint || !approval.isForRun;
    return decide(isLasting ? approval : await (await local()).approval(name), values, admin.io, screen);
  },
});

function tell(rows: readonly TrustRow[], screen: Screen, isJson: boolean): number {
  if (isJson) screen.print(formatJson(Object.fromEntries(rows.map(({ name, ...row }) => [name, row]))));
  else if (rows.length === 0) screen.print("No servers.");
  else screen.printAll(renderTable(columns(screen), rows, screen.width));
  return rows.every(({ state }) => state === "trusted") ? 0 : 1;
}

async function decide(
  approval: Approval,
  { yes: isYes, json: isJson }: { readonly yes: boolean; readonly json: boolean },
  io: Io,
  screen: Screen,
): Promise<number> {
  const { name, state, reason, lines } = approval;
  if (isJson) {
    // A program is not asked.
    const isApproved = isYes && state !== "trusted" && state !== "denied";
    if (isApproved) await approval.approve();
    const now = isApproved ? { state: "trusted", reason: "you approved it" } : { state, reason };
    screen.print(formatJson({ [name]: now }));
    return now.state === "trusted" ? 0 : 1;
  }
  if (state === "trusted") {
    screen.print(`${name} may act: ${reason}.`);
    return 0;
  }
  screen.printAll(lines);
  if (state === "denied") return 1;
  const answer = isYes ? "y" : await io.ask?.("Approve it? It will not be asked again until it changes. [y/N] ");
  if (answer === undefined || !/^y(?:es)?$/i.test(answer.trim())) {
    screen.print(`${name} is not approved.${answer === undefined ? " Give --yes where nobody can be asked." : ""}`);
    return 1;
  }
  const problem = await approval.approve();
  screen.print(`${name} is approved.`);
  if (problem !== undefined) screen.print(printableText(problem));
  return 0;
}

function columns({ palette }: Screen): Column<TrustRow>[] {
  return [
    { title: "SERVER", least: 8, text: ({ name }) => name, paint: () => palette.strong },
    { title: "TYPE", text: ({ type }) => type },
    {
      title: "TRUST",
      text: ({ state }) => state,
      paint: ({ state }) => (state === "trusted" ? palette.good : palette.warning),
    },
    { title: "WHY", least: 16, text: ({ reason }) => reason },
  ];
}
