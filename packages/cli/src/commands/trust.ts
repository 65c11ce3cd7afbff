import { printableText } from "@wirescope/channelz/printable-text";
import type { Entry, TrustJudgement, Variables } from "@wirescope/tool-server";
import type { AdminAtHand } from "../admin/ask-gateway.js";
import type { ApprovalAtHand, TrustRow } from "../admin/trust-through.js";
import type { Io } from "../io.js";
import { commonOptions, type OptionValues, parseOptions } from "../options.js";
import { formatJson } from "../output/json.js";
import { createScreen, type Screen } from "../output/screen.js";
import { type Column, renderTable } from "../output/table.js";
import type { ConfigurationAtHand } from "../tool-server/configuration-at-hand.js";
import { adminOptions, configurationOptions, serverOptions } from "../tool-server/server-options.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";

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
export const trustCommand: Command = {
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
  async run(args, io) {
    const { values, positionals } = parseOptions(options, args);
    if (positionals.length > 1) throw new UsageError(`trust takes no argument "${positionals[1]}".`);
    const screen = createScreen(io, values["no-color"]);
    const [name] = positionals;
    if (name === undefined && (values.yes || values.revoke))
      throw new UsageError("trust needs the name of a server with --yes and --revoke.");
    const gateway = await gatewayFor(values, io, name !== undefined);
    if (gateway !== undefined) {
      const { approvalThrough, trustRows } = await import("../admin/trust-through.js");
      if (name === undefined) return tell(await trustRows(gateway), screen, values.json);
      const approval = await approvalThrough(gateway, name);
      // What is trusted for a run can still be approved for good, in the configuration.
      if (values.endpoint || !approval.isForRun) return decide(approval, values, io, screen);
    }
    const { readConfigurationAtHand } = await import("../tool-server/configuration-at-hand.js");
    const hand = { ...(await readConfigurationAtHand(values)), variables: await variablesOf(values["env-file"], io) };
    if (name !== undefined && values.revoke) return revoke(hand, name, io, screen, values.json);
    if (name !== undefined) return decide(await approvalOf(hand, name, io), values, io, screen);
    const rows: TrustRow[] = [];
    for (const entry of hand.configuration.entries) {
      rows.push({ name: entry.name, type: entry.type, ...wordsOf(await judge(hand, entry, io)) });
    }
    return tell(rows, screen, values.json);
  },
};

/** A configuration, and the variables that decide where its urls lead. */
interface JudgedConfiguration extends ConfigurationAtHand {
  readonly variables: Variables;
}

async function variablesOf(envFiles: readonly string[], io: Io): Promise<Variables> {
  const { readable, readVariables } = await import("../tool-server/configuration-input.js");
  const { tellEnvFindings } = await import("../tool-server/tell-env-findings.js");
  const { variables, findings } = await readable(() => readVariables(envFiles, io.env));
  tellEnvFindings(findings, io);
  return variables;
}

/** An approval is taken back where it rests; what a gateway has opened by then goes on. */
async function gatewayFor(
  values: OptionValues<typeof options>,
  io: Io,
  isChange: boolean,
): Promise<AdminAtHand | undefined> {
  if (values.revoke && values.endpoint) {
    throw new UsageError("--revoke works on a configuration. Give --config in place of --endpoint.");
  }
  const { openAdmin } = await import("../admin/admin-at-hand.js");
  return values.revoke ? undefined : openAdmin(values, io, { isChange });
}

function tell(rows: readonly TrustRow[], screen: Screen, isJson: boolean): number {
  if (isJson) screen.print(formatJson(Object.fromEntries(rows.map(({ name, ...row }) => [name, row]))));
  else if (rows.length === 0) screen.print("No servers.");
  else screen.printAll(renderTable(columns(screen), rows, screen.width));
  return rows.every(({ state }) => state === "trusted") ? 0 : 1;
}

async function revoke(
  hand: ConfigurationAtHand,
  name: string,
  io: Io,
  screen: Screen,
  isJson: boolean,
): Promise<number> {
  const { approvalKey } = await import("@wirescope/tool-server");
  const { approvalsOf } = await import("../tool-server/ask-for-trust.js");
  const had = await approvalsOf(io).revoke(await approvalKey(hand.file, name));
  const reason = had ? `${name} is not approved any more.` : `${name} was not approved.`;
  screen.print(isJson ? formatJson({ [name]: { state: "new", reason } }) : reason);
  return 0;
}

/** What there is to approve in the configuration. */
async function approvalOf(hand: JudgedConfiguration, name: string, io: Io): Promise<ApprovalAtHand> {
  const entry = hand.configuration.entries.find((each) => each.name === name);
  if (entry === undefined) {
    const names = hand.configuration.entries.map((each) => each.name).join(", ");
    throw new UsageError(`There is no server "${name}". There are: ${names || "none"}.`);
  }
  const judgement = await judge(hand, entry, io);
  const { renderDistrust } = await import("@wirescope/tool-server");
  const { approvalsOf } = await import("../tool-server/ask-for-trust.js");
  return {
    name,
    ...wordsOf(judgement),
    lines: judgement.state === "trusted" ? [] : renderDistrust(name, judgement),
    isForRun: false,
    async approve() {
      if ("subject" in judgement) await approvalsOf(io).approve(judgement.subject);
      return undefined;
    },
  };
}

async function decide(
  approval: ApprovalAtHand,
  { yes: isYes, json: isJson }: { readonly yes: boolean; readonly json: boolean },
  io: Io,
  screen: Screen,
): Promise<number> {
  const { name, state, reason, lines } = approval;
  if (isJson) {
    // A program is not asked.
    const isApproved = isYes && state !== "trusted" && state !== "denied";
    if (isApproved) await approval.approve();
    const now = isApproved ? { state: "trusted", reason: reasons.approval } : { state, reason };
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

async function judge(hand: JudgedConfiguration, entry: Entry, io: Io): Promise<TrustJudgement> {
  const { judgeTrust } = await import("@wirescope/tool-server");
  const { approvalsOf, policyOf } = await import("../tool-server/ask-for-trust.js");
  const { file: configurationPath, pluginRoot, variables } = hand;
  const [store, policy] = [approvalsOf(io), await policyOf(io)];
  return judgeTrust({ entry, configurationPath, pluginRoot, variables, store, policy });
}

const reasons = {
  approval: "you approved it",
  policy: "the policy allows it",
  flag: "--trust was given",
} as const;

function wordsOf(judgement: TrustJudgement): Pick<TrustRow, "state" | "reason"> {
  switch (judgement.state) {
    case "trusted":
      return { state: "trusted", reason: reasons[judgement.by] };
    case "new":
      return { state: "new", reason: "nobody approved it yet" };
    case "changed":
      return { state: "changed", reason: "it is not what was approved" };
    case "denied":
      return { state: "denied", reason: "the policy denies it" };
  }
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
