import type { Entry, TrustJudgement } from "@wirescope/tool-server";
import type { Io } from "../io.js";
import { commonOptions, parseOptions } from "../options.js";
import { formatJson } from "../output/json.js";
import { createScreen, type Screen } from "../output/screen.js";
import { type Column, renderTable } from "../output/table.js";
import type { ConfigurationAtHand } from "../tool-server/configuration-at-hand.js";
import { configurationOptions } from "../tool-server/server-options.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";

const options = {
  yes: { type: "boolean", help: "approve what is shown without asking" },
  revoke: { type: "boolean", help: "take the approval back" },
  json: { type: "boolean", help: "print JSON in place of text" },
  ...configurationOptions,
  ...commonOptions,
} as const;

interface Row {
  readonly name: string;
  readonly type: Entry["type"];
  readonly judgement: TrustJudgement;
}

/** Shows which entries may act, and approves one. */
export const trustCommand: Command = {
  name: "trust",
  summary: "show which servers of a configuration may act, and approve one",
  parameters: ["[server]"],
  options,
  notes: [
    "An approval is of the whole entry and of the files that it runs; a change asks again.",
    "It rests in wirescope/approvals.json of the user's configuration folder. A policy, of WIRESCOPE_POLICY or",
    "/etc/wirescope/policy.json, may allow or deny more. It exits with 1 where a server may not act.",
  ],
  async run(args, io) {
    const { values, positionals } = parseOptions(options, args);
    if (positionals.length > 1) throw new UsageError(`trust takes no argument "${positionals[1]}".`);
    const { readConfigurationAtHand } = await import("../tool-server/configuration-at-hand.js");
    const hand = await readConfigurationAtHand(values);
    const screen = createScreen(io, values["no-color"]);
    const [name] = positionals;
    if (name !== undefined) return decide(hand, name, values, io, screen);
    if (values.yes || values.revoke) throw new UsageError("trust needs the name of a server with --yes and --revoke.");
    const rows: Row[] = [];
    for (const entry of hand.configuration.entries) {
      rows.push({ name: entry.name, type: entry.type, judgement: await judge(hand, entry, io) });
    }
    if (values.json) {
      screen.print(formatJson(Object.fromEntries(rows.map((row) => [row.name, { type: row.type, ...wordsOf(row) }]))));
    } else if (rows.length === 0) screen.print("No servers.");
    else screen.printAll(renderTable(columns(screen), rows, screen.width));
    return rows.every(({ judgement }) => judgement.state === "trusted") ? 0 : 1;
  },
};

async function decide(
  hand: ConfigurationAtHand,
  name: string,
  { yes, revoke }: { readonly yes: boolean; readonly revoke: boolean },
  io: Io,
  screen: Screen,
): Promise<number> {
  const { approvalKey, renderDistrust } = await import("@wirescope/tool-server");
  const { approvalsOf } = await import("../tool-server/ask-for-trust.js");
  const store = approvalsOf(io);
  if (revoke) {
    const had = await store.revoke(await approvalKey(hand.file, name));
    screen.print(had ? `${name} is not approved any more.` : `${name} was not approved.`);
    return 0;
  }
  const entry = hand.configuration.entries.find((each) => each.name === name);
  if (entry === undefined) {
    const names = hand.configuration.entries.map((each) => each.name).join(", ");
    throw new UsageError(`There is no server "${name}". There are: ${names || "none"}.`);
  }
  const judgement = await judge(hand, entry, io);
  if (judgement.state === "trusted") {
    screen.print(`${name} may act: ${wordsOf({ judgement }).reason}.`);
    return 0;
  }
  screen.printAll(renderDistrust(name, judgement));
  if (judgement.state === "denied") return 1;
  const answer = yes ? "y" : await io.ask?.("Approve it? It will not be asked again until it changes. [y/N] ");
  if (answer === undefined || !/^y(?:es)?$/i.test(answer.trim())) {
    screen.print(`${name} is not approved.${answer === undefined ? " Give --yes where nobody can be asked." : ""}`);
    return 1;
  }
  await store.approve(judgement.subject);
  screen.print(`${name} is approved.`);
  return 0;
}

async function judge({ file, pluginRoot }: ConfigurationAtHand, entry: Entry, io: Io): Promise<TrustJudgement> {
  const { judgeTrust } = await import("@wirescope/tool-server");
  const { approvalsOf, policyOf } = await import("../tool-server/ask-for-trust.js");
  const question = { entry, configurationPath: file, pluginRoot, store: approvalsOf(io), policy: await policyOf(io) };
  return judgeTrust(question);
}

const reasons = {
  approval: "you approved it",
  policy: "the policy allows it",
  flag: "--trust was given",
} as const;

function wordsOf({ judgement }: Pick<Row, "judgement">): { readonly state: string; readonly reason: string } {
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

function columns({ palette }: Screen): Column<Row>[] {
  return [
    { title: "SERVER", least: 8, text: ({ name }) => name, paint: () => palette.strong },
    { title: "TYPE", text: ({ type }) => type },
    {
      title: "TRUST",
      text: (row) => wordsOf(row).state,
      paint: ({ judgement }) => (judgement.state === "trusted" ? palette.good : palette.warning),
    },
    { title: "WHY", least: 16, text: (row) => wordsOf(row).reason },
  ];
}
