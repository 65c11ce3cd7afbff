import { readFileSync } from "node:fs";
import { isAbsolute } from "node:path";
import { printableText } from "@wirescope/channelz/internal";
import type { Filters, GatewayLimits, ServerSettings, SettingsByServer, ToolFilter } from "@wirescope/gateway";
import type { JsonMember, Position } from "@wirescope/tool-server/internal/json";
import { suggest } from "@wirescope/tool-server/internal/suggest";
import { reasonOf } from "../file-failure.js";
import { gatewaySettingsPath } from "../gateway-settings-path.js";
import type { Io } from "../io.js";
import { JsoncError, membersOf, parseJsonc } from "../jsonc/parse-jsonc.js";
import type { OptionValues } from "../options.js";
import { UsageError } from "../usage-error.js";
import { toolListsOf } from "./tool-lists.js";
import type { upOptions } from "./up-options.js";

interface GatewaySettings {
  /** Which tools are offered, by server. */
  readonly tools: Filters;
  readonly limits: Partial<GatewayLimits>;
  /** Settings of servers, by name. */
  readonly servers: SettingsByServer;
  /** Configuration files of other programs that the gateway uses too. */
  readonly configurations: readonly string[];
  /** Whom users of the gateway ask about what only its operator can fix. */
  readonly contact: string | undefined;
}

const noSettings: GatewaySettings = { tools: {}, limits: {}, servers: {}, configurations: [], contact: undefined };

/** In the instructions, which some clients truncate, the contact must leave room for the servers. */
const maxContactLength = 100;

const serverSettings = { prefix: ["always", "never"], era: ["auto", "legacy"] } as const;

/** Every limit of the gateway, with its line in docs/reference.md. */
export const gatewayLimits: Readonly<Record<keyof GatewayLimits, string>> = {
  messageBytes: "bytes of a message from a client",
  resultBytes: "bytes of a message from a server; a result above it fails its call",
  sessions: "legacy sessions at once; at the limit, the session that was idle longest is closed",
  sessionIdleMs: "milliseconds until a session without a stream or request is closed",
  clientConcurrency: "requests in flight of one session, or of one client without sessions",
  clientRate: "requests a second of one client on average, with bursts of twice as many",
  serverConcurrency: "calls in flight to one server",
  serverRate: "calls a second to one server on average, with bursts of twice as many",
  listMs: "milliseconds to wait for a list of one server",
  callIdleMs:
    "milliseconds a server may be silent during a call, and a call may wait to be sent; progress and questions to the client restart it",
  drainMs: "milliseconds for calls in flight to end when a reload changes or removes their server",
  inputMs: "milliseconds for a client to respond to a request of a server",
  parkedCalls: "calls at once that wait for a client to return with input",
  listeners: "event streams of clients at once",
  descriptionLength: "characters of a description of a tool, prompt, resource or argument; longer ones are truncated",
  tasks: "tasks of one client on one server; above it, the one used least recently is forgotten",
};

/** Reads the settings; the defaults if the file is missing, unless it `isNeeded`. Throws a UsageError with the position of an error. */
export function readGatewaySettings(path: string, isNeeded: boolean): GatewaySettings {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    // The home of some system users is not a directory.
    if ((code === "ENOENT" || code === "ENOTDIR") && !isNeeded) return noSettings;
    throw new UsageError(`${path} cannot be read: ${reasonOf(error)}`);
  }
  try {
    return parseSettings(text);
  } catch (error) {
    if (error instanceof JsoncError) throw new UsageError(`${path}:${error.message}`);
    throw error;
  }
}

function parseSettings(text: string): GatewaySettings {
  const fail = (at: Position, problem: string): never => {
    throw new JsoncError(at, problem);
  };
  const unknown = ({ key, keyAt }: JsonMember, what: string, names: readonly string[]): never => {
    const near = suggest(key, names);
    const hint = near === undefined ? `Known: ${names.join(", ")}.` : `Did you mean ${near}?`;
    return fail(keyAt, `Unknown ${what} ${JSON.stringify(key)}. ${hint}`);
  };
  const patternsOf = ({ key, value }: JsonMember): string[] => {
    if (value.kind !== "array") return fail(value, `${key} must be a list of tool names.`);
    return value.items.map((item) => {
      if (item.kind === "string" && item.value !== "") return item.value;
      return fail(item, `${key} must contain only tool names.`);
    });
  };
  const filterOf = ({ key, value }: JsonMember): ToolFilter => {
    const filter: { allow?: string[]; deny?: string[] } = {};
    for (const member of membersOf(value, `tools of ${JSON.stringify(key)}`)) {
      if (member.key === "allow" || member.key === "deny") filter[member.key] = patternsOf(member);
      else unknown(member, "list of tools", ["allow", "deny"]);
    }
    return filter;
  };
  const limitOf = (member: JsonMember): number => {
    const { key, value } = member;
    if (!Object.hasOwn(gatewayLimits, key)) return unknown(member, "limit", Object.keys(gatewayLimits));
    if (value.kind === "number" && value.value > 0) return value.value;
    return fail(value, `${key} must be a number greater than 0.`);
  };

  const settingsOf = ({ key, value }: JsonMember): ServerSettings => {
    const settings: Record<string, string> = {};
    for (const member of membersOf(value, `settings of ${JSON.stringify(key)}`)) {
      if (member.key !== "prefix" && member.key !== "era")
        return unknown(member, "setting of a server", Object.keys(serverSettings));
      const values: readonly string[] = serverSettings[member.key];
      const { value: given } = member;
      if (given.kind !== "string" || !values.includes(given.value))
        return fail(given, `${member.key} must be ${values.map((one) => JSON.stringify(one)).join(" or ")}.`);
      settings[member.key] = given.value;
    }
    return settings as ServerSettings;
  };

  const pathsOf = ({ key, value }: JsonMember): string[] => {
    if (value.kind !== "array") return fail(value, `${key} must be a list of files.`);
    return value.items.map((item) => {
      if (item.kind === "string" && isAbsolute(item.value)) return item.value;
      return fail(item, `${key} must contain only absolute paths.`);
    });
  };

  const contactOf = ({ value }: JsonMember): string => {
    const text = value.kind === "string" ? value.value.trim() : "";
    if (text !== "" && text.length <= maxContactLength && text === printableText(text)) return text;
    const problem = `contact must be one line of 1 to ${maxContactLength} characters, such as "#tools on Slack".`;
    return fail(value, problem);
  };

  const result: { -readonly [Key in keyof GatewaySettings]: GatewaySettings[Key] } = { ...noSettings };
  for (const member of membersOf(parseJsonc(text).root, "The file")) {
    const inner = (): readonly JsonMember[] => membersOf(member.value, member.key);
    if (member.key === "tools") result.tools = Object.fromEntries(inner().map((one) => [one.key, filterOf(one)]));
    else if (member.key === "limits") result.limits = Object.fromEntries(inner().map((one) => [one.key, limitOf(one)]));
    else if (member.key === "servers")
      result.servers = Object.fromEntries(inner().map((one) => [one.key, settingsOf(one)]));
    else if (member.key === "contact") result.contact = contactOf(member);
    else if (member.key === "configurations") result.configurations = pathsOf(member);
    else unknown(member, "setting", Object.keys(noSettings));
  }
  return result;
}

/** Reads the settings of a gateway, at its start and after each change. */
interface SettingsReader {
  readonly file: string;
  /** The settings of the file, overridden by the options. Throws a UsageError with the position of an error. */
  read(): GatewaySettings;
}

/** The demonstration ignores the user's settings file, which is about other servers, unless an option names it. */
export function createSettingsReader(values: OptionValues<typeof upOptions>, io: Io, isDemo: boolean): SettingsReader {
  const file = gatewaySettingsPath(values.settings, io);
  const isNamed = values.settings !== undefined;
  return {
    file,
    read() {
      const settings = isDemo && !isNamed ? noSettings : readGatewaySettings(file, isNamed);
      return { ...settings, tools: toolListsOf(settings.tools, values) };
    },
  };
}
