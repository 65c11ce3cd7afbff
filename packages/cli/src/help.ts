import { commandGroups } from "./command-table.js";
import type { Command } from "./commands/command.js";
import { environmentVariables } from "./environment-variables.js";
import { describeOptions } from "./options.js";
import { type Meaning, twoColumns, wrap } from "./output/text-layout.js";

const exitCodes: readonly Meaning[] = [
  ["0", "success"],
  ["1", "a server, tool or peer failed; a check found a problem; a server is not trusted"],
  ["2", "invalid usage or configuration"],
  ["3", "conform or diff could not read an endpoint"],
  ["130", "interrupted before there was a result"],
  ["141", "standard output was closed (for example by head) before everything was written"],
];

/** What may be given instead of a command. */
const withoutCommand: readonly Meaning[] = [
  ["<url>", "list the tools of the server at this url, without a configuration"],
  ["-- <command …>", "list the tools of the server that this command starts"],
];

const environment: readonly Meaning[] = environmentVariables
  .filter(({ isOnlyInReference }) => !isOnlyInReference)
  .map(({ name, help }) => [name, help]);

const examples: readonly Meaning[] = [
  ["wirescope https://mcp.example.com/mcp", "list the tools of a server, without a configuration"],
  ["wirescope call https://mcp.example.com/mcp search text=refund", "call one of them"],
  ["wirescope -- npx some-server", "the same for a server that runs here"],
  ["wirescope tree", "show the connections of the running gateway"],
  ["wirescope channels --target 10.0.0.7:50051", "list the channels of another process"],
  ["wirescope sockets --target unix:/run/app.sock", "list its connections, over a Unix socket"],
  ["wirescope check .mcp.json", "validate a configuration file"],
  ["wirescope tools", "list the tools of its servers"],
  ["wirescope call tickets search text=refund", "call a tool"],
  ["wirescope install cursor", "add the gateway to the configuration of Cursor"],
];

/** The help overview, wrapped to this width. */
export function overviewText(width?: number): string {
  return lines(
    ...wrap(
      "Connects MCP clients to MCP servers, diagnoses failing servers, and shows the connections of any process that speaks Channelz.",
      width,
      "",
    ),
    "",
    "Usage: wirescope <command> [options]",
    "",
    "Without a command:",
    ...twoColumns(withoutCommand, width),
    "",
    ...commandGroups.flatMap(({ title, commands }) => [
      `${title}:`,
      ...twoColumns(
        commands.map((command): Meaning => [usageOf(command), command.summary]),
        width,
      ),
      "",
    ]),
    "Examples:",
    ...twoColumns(examples, width),
    "",
    "Environment:",
    ...twoColumns(environment, width),
    "",
    "Exit codes:",
    ...twoColumns(exitCodes, width),
    "",
    ...wrap(
      "Run wirescope <command> --help for the options of a command, wirescope --version for the version.",
      width,
      "",
    ),
  );
}

/** The help of one command, wrapped to this width. */
export function commandText(command: Command, width?: number): string {
  return lines(
    ...wrap(`Usage: wirescope ${usageOf(command)} [options]`, width, ""),
    "",
    ...wrap(`${command.summary.charAt(0).toUpperCase()}${command.summary.slice(1)}.`, width, ""),
    "",
    "Options:",
    ...describeOptions(command.options, width),
    "",
    ...(command.notes === undefined ? [] : [...notesIn(command.notes, width), ""]),
    "Exit codes:",
    ...twoColumns(exitCodes, width),
  );
}

/** Notes are written as lines. If one exceeds the width, the paragraphs are wrapped again. */
function notesIn(notes: readonly string[], width: number | undefined): string[] {
  if (width === undefined || notes.every((line) => line.length <= width)) return [...notes];
  const paragraphs: string[] = [];
  for (const line of notes) {
    const last = paragraphs.at(-1);
    const continues = last !== undefined && last !== "" && line !== "" && !/^\s/.test(line) && !/^\s/.test(last);
    if (continues) paragraphs[paragraphs.length - 1] = `${last} ${line}`;
    else paragraphs.push(line);
  }
  return paragraphs.flatMap((text) => {
    const indent = /^\s*/.exec(text)?.[0] ?? "";
    return wrap(text.trimStart(), width, indent);
  });
}

function usageOf({ name, parameters }: Command): string {
  return [name, ...parameters].join(" ");
}

function lines(...all: readonly string[]): string {
  return `${all.join("\n")}\n`;
}
