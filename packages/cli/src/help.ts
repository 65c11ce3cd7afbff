import { commands } from "./command-table.js";
import type { Command } from "./commands/command.js";
import { describeOptions } from "./options.js";

const exitCodes = [
  "Exit codes:",
  "  0  all went well",
  "  1  the peer, a server or a tool failed or refused; check found errors; a server is not trusted",
  "  2  the command was used wrongly",
];

const environment = [
  "Environment:",
  "  WIRESCOPE_TARGET       the peer to read where --target is not given",
  "  WIRESCOPE_TOKEN        the bearer token where --token-file is not given",
  "  WIRESCOPE_POLICY       the policy that says which tool servers may act",
  "  WIRESCOPE_PROFILE      whose tokens to use where --profile is not given",
  "  WIRESCOPE_VAULT        where tokens rest where --vault is not given",
  "  WIRESCOPE_VAULT_KEY    the key of the encrypted file; also WIRESCOPE_VAULT_KEY_FILE, WIRESCOPE_VAULT_PASSPHRASE",
  "  WIRESCOPE_OAUTH_FILE   clients and scopes, in place of wirescope/oauth.json of the configuration folder",
  "  BROWSER                what opens the page of a sign-in, on Linux",
  "  WIRESCOPE_DEBUG        1 shows the whole of an error, with its causes",
  "  NO_COLOR, FORCE_COLOR  colours off, or on",
];

/** The help of the whole command. */
export function overviewText(): string {
  const width = Math.max(...commands.map((command) => usageOf(command).length));
  return lines(
    "Uses tool servers, and looks into any process that speaks Channelz: its channels, servers and sockets.",
    "",
    "Usage: wirescope <command> [options]",
    "",
    "Commands:",
    ...commands.map((command) => `  ${usageOf(command).padEnd(width)}  ${command.summary}`),
    "",
    "Examples:",
    "  wirescope tree                                what the process of npm start holds",
    "  wirescope channels --target 10.0.0.7:50051    the channels of another process",
    "  wirescope sockets --target unix:/run/app.sock --json",
    "  wirescope check .mcp.json                     all that is wrong with a configuration",
    "  wirescope tools                               the tools of its servers",
    "  wirescope call tickets search text=refund     call one",
    "  wirescope install cursor                      put the gateway into the configuration of a client",
    "",
    ...environment,
    "",
    ...exitCodes,
    "",
    "wirescope <command> --help shows the options of a command; wirescope --version the version.",
  );
}

/** The help of one command. */
export function commandText(command: Command): string {
  return lines(
    `Usage: wirescope ${usageOf(command)} [options]`,
    "",
    `${command.summary.charAt(0).toUpperCase()}${command.summary.slice(1)}.`,
    "",
    "Options:",
    ...describeOptions(command.options),
    "",
    ...(command.notes === undefined ? [] : [...command.notes, ""]),
    ...exitCodes,
  );
}

function usageOf({ name, parameters }: Command): string {
  return [name, ...parameters].join(" ");
}

function lines(...all: readonly string[]): string {
  return `${all.join("\n")}\n`;
}
