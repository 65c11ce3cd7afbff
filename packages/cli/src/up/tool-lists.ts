import type { Filters, ServerStatus } from "@wirescope/gateway";
import { UsageError } from "../usage-error.js";
import type { ServerCommands, ToDo } from "./to-do.js";

/** The lists of the options, as `server:pattern`. */
export interface ListOptions {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/** The lists of the file. Options for a server replace those of the file. Throws a UsageError. */
export function toolListsOf(file: Filters, options: ListOptions): Filters {
  const given = new Map<string, { allow?: string[]; deny?: string[] }>();
  for (const list of ["allow", "deny"] as const) {
    for (const text of options[list]) {
      const colon = text.indexOf(":");
      if (colon < 1 || colon === text.length - 1) {
        throw new UsageError(`--${list} must be server:tool, where * matches any text, not "${text}".`);
      }
      const server = text.slice(0, colon);
      const filter = given.get(server) ?? {};
      filter[list] = [...(filter[list] ?? []), text.slice(colon + 1)];
      given.set(server, filter);
    }
  }
  return { ...file, ...Object.fromEntries(given) };
}

/** Problems of the lists: unknown servers, and patterns that match no tool. */
export function toolListsToDo(lists: Filters, servers: readonly ServerStatus[], commands: ServerCommands): ToDo[] {
  const names = servers.map(({ name }) => name);
  const unknownServers = Object.keys(lists).filter((name) => !names.includes(name));
  return [
    ...unknownServers.map((server) => ({
      server,
      problem: `tools of this server are allowed or denied, but it does not exist; servers: ${names.join(", ") || "none"}`,
      command: commands.check(server),
    })),
    ...servers.flatMap(({ name, idlePatterns }) =>
      idlePatterns.map((pattern) => ({
        server: name,
        problem: `${JSON.stringify(pattern)}, which is allowed or denied, matches none of its tools; list them`,
        command: commands.about("tools", name),
      })),
    ),
  ];
}
