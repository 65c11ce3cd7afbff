import { basename } from "node:path";
import { parseUrl, printableText } from "@wirescope/channelz/internal";
import { commandLine, shellWord } from "@wirescope/tool-server/internal/command-line";
import type { Io } from "../io.js";
import { parsePort } from "../option-values.js";
import type { OptionValues } from "../options.js";
import { UsageError } from "../usage-error.js";

/** A server that the command line gives by its url or by the command that starts it, without a configuration. */
export interface AdHocServer {
  /** The url, so that commands in advice can be pasted; for a command, the name of its program. */
  readonly name: string;
  /** The entry in the format of a configuration file. */
  readonly entry: AdHocEntry;
  /** The options that describe it, to refer to it again in a command line. */
  readonly options: readonly string[];
}

/** An entry of a configuration file. Its strings may contain `${NAME}`. */
export type AdHocEntry =
  | {
      readonly url: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly oauth?: Readonly<Record<string, unknown>>;
    }
  | { readonly command: string; readonly args: readonly string[]; readonly env?: Readonly<Record<string, string>> };

/** Options that describe a server given by url or command. */
export const adHocOptions = {
  header: {
    type: "string",
    multiple: true,
    placeholder: "'name: value'",
    help: "with a url: send this header; ${NAME}, in single quotes, is replaced by the variable",
  },
  "oauth-client-id": {
    type: "string",
    placeholder: "id",
    help: "with a url: sign in as this client, which is registered with the authorization server",
  },
  "oauth-scope": { type: "string", multiple: true, placeholder: "name", help: "with a url: request this scope" },
  "oauth-callback-port": {
    type: "string",
    placeholder: "number",
    help: "with a url: port of the redirect to this machine, if the client is registered with one",
  },
  env: {
    type: "string",
    multiple: true,
    placeholder: "NAME[=value]",
    help: "with a command after --: pass this variable to it",
  },
} as const;

type AdHocValues = Partial<OptionValues<typeof adHocOptions>>;

/** Whether an argument is the url of a server, not a name. */
export function isServerUrl(word: string | undefined): word is string {
  return word !== undefined && /^(?:https?|wss?):\/\//i.test(word);
}

/** The arguments before the first `--`, and the command after it; undefined if there is no `--`. */
export function splitServerCommand(args: readonly string[]): {
  readonly words: readonly string[];
  readonly command: readonly string[] | undefined;
} {
  const dashes = args.indexOf("--");
  if (dashes < 0) return { words: args, command: undefined };
  return { words: args.slice(0, dashes), command: args.slice(dashes + 1) };
}

/** The server that the command line gives by url or command; undefined if it gives neither. Throws a UsageError. */
export function adHocServerOf(
  first: string | undefined,
  command: readonly string[] | undefined,
  values: AdHocValues,
): AdHocServer | undefined {
  const { header = [], env = [] } = values;
  const oauthWords = oauthOptions.flatMap((name) => [values[name] ?? []].flat().flatMap((each) => [`--${name}`, each]));
  /** An option that only a server with a url has. */
  const urlOption = header.length > 0 ? "--header" : oauthWords[0];
  if (command !== undefined) {
    const [program, ...args] = command;
    if (program === undefined || program === "") throw new UsageError("A command is missing after --.");
    if (isServerUrl(first)) throw new UsageError("Give a url or a command after --, not both.");
    if (urlOption !== undefined) throw new UsageError(`${urlOption} requires a url.`);
    const variables = env.length === 0 ? {} : { env: Object.fromEntries(env.map(parseVariable)) };
    const entry = { command: program, args, ...variables };
    return { name: basename(program) || program, entry, options: env.flatMap((each) => ["--env", each]) };
  }
  if (env.length > 0) throw new UsageError("--env requires a command after --.");
  if (!isServerUrl(first)) {
    if (urlOption !== undefined) throw new UsageError(`${urlOption} requires a url.`);
    return undefined;
  }
  const url = parseUrl(first);
  if (url === undefined) throw new UsageError(`"${printableText(first)}" is not a valid url.`);
  const headers = header.length === 0 ? {} : { headers: Object.fromEntries(header.map(parseHeader)) };
  const entry = { url: first, ...headers, ...oauthOf(values) };
  return { name: first, entry, options: [...header.flatMap((each) => ["--header", each]), ...oauthWords] };
}

/** A wirescope command for this server, to be pasted. */
export function adHocCommandLine(verb: string, { name, entry, options }: AdHocServer, ...more: string[]): string {
  return "command" in entry
    ? commandLine(verb, ...more, ...options, "--", entry.command, ...entry.args)
    : commandLine(verb, name, ...more, ...options);
}

/** Reports which program is started: there is no prompt, because the user typed it. */
export function reportStart({ entry }: AdHocServer, { stderr }: Pick<Io, "stderr">): void {
  if (!("command" in entry)) return;
  stderr.write(`Starting ${printableText([entry.command, ...entry.args].map(shellWord).join(" "))}\n`);
}

const oauthOptions = ["oauth-client-id", "oauth-scope", "oauth-callback-port"] as const;

/** The OAuth settings in the format of an entry. */
function oauthOf(values: AdHocValues): { readonly oauth?: Readonly<Record<string, unknown>> } {
  const { "oauth-client-id": clientId, "oauth-scope": scopes = [], "oauth-callback-port": port } = values;
  if (clientId === undefined && scopes.length === 0 && port === undefined) return {};
  return {
    oauth: {
      ...(clientId === undefined ? {} : { clientId }),
      ...(scopes.length === 0 ? {} : { scopes }),
      ...(port === undefined ? {} : { callbackPort: parsePort(port, "--oauth-callback-port", 1) }),
    },
  };
}

/** Accepts both `name: value` and `name=value`. */
function parseHeader(text: string): readonly [string, string] {
  const match = /^([!#$%&'*+.^_`|~\w-]+)(?:\s*:\s*|=)(.*)$/s.exec(text);
  if (match === null) throw new UsageError("--header must be 'name: value'.");
  return [match[1] ?? "", (match[2] ?? "").trim()];
}

/** `NAME` alone passes the user's own variable. */
function parseVariable(text: string): readonly [string, string] {
  const match = /^([A-Za-z_]\w*)(?:=(.*))?$/s.exec(text);
  if (match === null) throw new UsageError("--env must be NAME or NAME=value.");
  const [, name = "", value] = match;
  return [name, value ?? `\${${name}}`];
}
