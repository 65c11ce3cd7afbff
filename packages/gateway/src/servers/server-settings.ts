import { patternOf } from "./tool-filter.js";

/** Settings of one server behind the gateway. */
export interface ServerSettings {
  /**
   * Whether its tools and prompts have the prefix `server__`. With `never` they keep the server's own names, as the
   * server's apps expect; of two with the same name the first is offered. Default `always`.
   */
  readonly prefix?: "always" | "never" | undefined;
  /**
   * The protocol era in which the gateway connects to it. With `auto` it is the modern one if the server supports it. A tool that sends requests to
   * its client, such as sampling, works with `legacy` only, unless the server converts them. Default `auto`.
   */
  readonly era?: "auto" | "legacy" | undefined;
}

/** The settings of servers, by name. A name with `*`, which matches any text, applies to a group of servers. */
export type SettingsByServer = Readonly<Record<string, ServerSettings>>;

/** The settings of a server: those of its groups in order, then its own. Undefined if it has none. */
export function settingsFor(settings: SettingsByServer, name: string): ServerSettings | undefined {
  const groups = Object.keys(settings).filter((pattern) => pattern !== name && patternOf(pattern)(name));
  const keys = Object.hasOwn(settings, name) ? [...groups, name] : groups;
  return keys.length === 0 ? undefined : Object.assign({}, ...keys.map((key) => settings[key]));
}
