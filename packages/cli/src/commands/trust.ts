import { printableText } from "@wirescope/channelz/internal";
import type { LocalAdmin } from "../admin/local-admin.js";
import type { PendingApproval, ServerAdmin, TrustRow } from "../admin/server-admin.js";
import type { Io } from "../io.js";
import { commonOptions } from "../options.js";
import { formatJson } from "../output/json.js";
import type { Screen } from "../output/screen.js";
import { type Column, renderTable } from "../output/table.js";
import { configurationOptions, serverOptions } from "../tool-server/server-options.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";
import { defineAdminCommand } from "./define-admin-command.js";

const options = {
  all: { type: "boolean", help: "show every server that is not approved, and approve all of them at once" },
  yes: { type: "boolean", help: "approve without asking" },
  revoke: { type: "boolean", help: "revoke the approval" },
  json: { type: "boolean", help: "print JSON instead of text" },
  ...configurationOptions,
  "env-file": serverOptions["env-file"],
  endpoint: serverOptions.endpoint,
  ...commonOptions,
} as const;

/** Lists which servers are approved, or approves one. */
export const trustCommand: Command = defineAdminCommand({
  name: "trust",
  summary: "list which servers are approved, or approve one or all",
  parameters: ["[server]"],
  options,
  notes: [
    "If a gateway is running with the same configuration, it is used, and it connects to the approved server at once.",
    "An approval covers the entry, the files it runs, and the origin of its url with your variables filled in; if any of",
    "them changes, you have to approve it again. If a tool of an approved server changes, both texts are shown; approve",
    "the server to accept them.",
    "Approvals are stored in wirescope/approvals.json in your configuration folder. A policy file (WIRESCOPE_POLICY or",
    "/etc/wirescope/policy.json) can allow or deny servers. The exit code is 1 if a server is not trusted.",
  ],
  isChange: ([name], { all }) => name !== undefined || all,
  // An approval is revoked in the file that stores it; connections of a running gateway stay open.
  isLocal: ({ revoke }) => revoke,
  check(values, [name]) {
    if (name !== undefined && values.all) throw new UsageError("--all cannot be used with the name of a server.");
    if (name === undefined && (values.revoke || (values.yes && !values.all)))
      throw new UsageError("--yes and --revoke require the name of a server.");
    if (values.revoke && values.endpoint)
      throw new UsageError("--revoke requires a configuration file. Use --config instead of --endpoint.");
  },
  async use({ admin, screen, values, positionals, local }) {
    const [name] = positionals;
    if (values.all) return approveAll(admin, local, values, screen);
    if (name === undefined) return printApprovals(await admin.approvals(), screen, values.json);
    if (values.revoke) {
      const had = await (await local()).revoke(name);
      const reason = had ? `${name} is no longer approved.` : `${name} was not approved.`;
      screen.print(values.json ? formatJson({ [name]: { state: "new", reason } }) : reason);
      return 0;
    }
    return decide(await approvalOf(name, admin, local, values.endpoint), values, admin.io, screen);
  },
});

/** What is to be approved. A server that is trusted only for this run can be approved permanently. */
async function approvalOf(
  name: string,
  admin: ServerAdmin,
  local: () => Promise<LocalAdmin>,
  usesGateway: boolean,
): Promise<PendingApproval> {
  const approval = await admin.approval(name);
  return usesGateway || !approval.isForRun ? approval : (await local()).approval(name);
}

/** Shows all servers that are not approved, asks once, and approves them. */
async function approveAll(
  admin: ServerAdmin,
  local: () => Promise<LocalAdmin>,
  { yes: isYes, json: isJson, endpoint }: { readonly yes: boolean; readonly json: boolean; readonly endpoint: boolean },
  screen: Screen,
): Promise<number> {
  const all: PendingApproval[] = [];
  for (const { name } of await admin.approvals()) all.push(await approvalOf(name, admin, local, endpoint));
  const pending = all.filter(isPending);
  const unclear = all.filter((each) => isPending(each) || each.state === "denied");
  if (!isJson) for (const { lines } of unclear) screen.printAll([...lines, ""]);
  // No prompt with --json.
  const question = `Approve ${pending.length === 1 ? "this server" : `these ${pending.length} servers`}? You are asked again only about what changes. [y/N] `;
  const reply = isYes ? "y" : pending.length === 0 || isJson ? "n" : await admin.io.ask?.(question);
  const isApproved = /^y(?:es)?$/i.test(reply?.trim() ?? "");
  const problems: string[] = [];
  if (isApproved) {
    for (const approval of pending) problems.push(...[(await approval.approve()) ?? []].flat());
  }
  const rows = all.map(({ name, state, reason }) => {
    const isNew = isApproved && pending.some((each) => each.name === name);
    return [name, isNew ? { state: "trusted", reason: "approved" } : { state, reason }] as const;
  });
  if (isJson) screen.print(formatJson(Object.fromEntries(rows)));
  else {
    const names = pending.map(({ name }) => name).join(", ");
    if (pending.length === 0) screen.print(all.length === 0 ? "No servers." : "No server is waiting for an approval.");
    else if (isApproved) screen.print(`Approved: ${names}.`);
    else screen.print(`Not approved: ${names}.${reply === undefined ? " Use --yes to approve without a prompt." : ""}`);
    screen.printAll(problems.map((problem) => printableText(problem)));
  }
  return rows.every(([, { state }]) => state === "trusted") ? 0 : 1;
}

/** Whether there is something to approve: the server, or the current definitions of its tools. */
function isPending({ state, lines }: PendingApproval): boolean {
  return state === "trusted" ? lines.length > 0 : state !== "denied";
}

function printApprovals(rows: readonly TrustRow[], screen: Screen, isJson: boolean): number {
  if (isJson) screen.print(formatJson(Object.fromEntries(rows.map(({ name, ...row }) => [name, row]))));
  else if (rows.length === 0) screen.print("No servers.");
  else screen.printAll(renderTable(columns(screen), rows, screen.width));
  return rows.every(({ state }) => state === "trusted") ? 0 : 1;
}

async function decide(
  approval: PendingApproval,
  { yes: isYes, json: isJson }: { readonly yes: boolean; readonly json: boolean },
  io: Io,
  screen: Screen,
): Promise<number> {
  const { name, state, reason, lines } = approval;
  if (isJson) {
    // No prompt with --json.
    const isApproved = isYes && isPending(approval);
    if (isApproved) await approval.approve();
    const now = isApproved ? { state: "trusted", reason: "approved" } : { state, reason };
    screen.print(formatJson({ [name]: now }));
    return now.state === "trusted" ? 0 : 1;
  }
  if (state === "trusted" && !isPending(approval)) {
    screen.print(`${name} is trusted: ${reason}.`);
    return 0;
  }
  screen.printAll(lines);
  if (state === "denied") return 1;
  const [what, subject] =
    state === "trusted" ? ["these tools", `The tools of ${name} are`] : ["this server", `${name} is`];
  const reply = isYes ? "y" : await io.ask?.(`Approve ${what}? You are asked again only about what changes. [y/N] `);
  if (reply === undefined || !/^y(?:es)?$/i.test(reply.trim())) {
    screen.print(`${subject} not approved.${reply === undefined ? " Use --yes to approve without a prompt." : ""}`);
    return 1;
  }
  const problem = await approval.approve();
  screen.print(`${subject} approved.`);
  if (problem !== undefined) screen.print(printableText(problem));
  return 0;
}

function columns({ palette }: Screen): Column<TrustRow>[] {
  return [
    { title: "SERVER", minWidth: 8, text: ({ name }) => name, paint: () => palette.strong },
    { title: "TYPE", text: ({ type }) => type },
    {
      title: "TRUST",
      text: ({ state }) => state,
      paint: ({ state }) => (state === "trusted" ? palette.good : palette.warning),
    },
    { title: "WHY", minWidth: 16, text: ({ reason }) => reason },
  ];
}
