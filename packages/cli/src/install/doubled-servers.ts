import { realpath } from "node:fs/promises";
import { printableText } from "@wirescope/channelz/internal";
import { type Entry, type Finding, formatPath, readConfiguration } from "@wirescope/tool-server/config";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import type { Io } from "../io.js";
import { removeJsoncMember } from "../jsonc/edit-jsonc.js";
import { readClientFile, replaceClientFile } from "./client-file.js";
import { type ClientServers, readClientServers } from "./client-servers.js";
import type { McpClient, UserEnvironment } from "./clients.js";
import type { InstallValues } from "./install-options.js";
import { toPortableEntry } from "./portable-entry.js";

/** Servers in a file of a client that the gateway serves too. */
interface DoubledServers {
  readonly file: string;
  readonly servers: readonly string[];
  /** Their secrets in plain text, each with the variable that `import` uses instead. */
  readonly secrets: readonly { readonly server: string; readonly field: string; readonly variable: string }[];
  readonly isRemoved: boolean;
}

/** The options with which the same entry is installed again. */
const entryOptions = [
  "scope",
  "name",
  "http",
  "config",
  "env-file",
  "profile",
  "vault",
  "allow-insecure-loopback",
] as const;

/**
 * Names the servers that the client has in its own files and behind the gateway, and removes them from its files: with --replace, or if
 * the user agrees. Rejects with a ClientFileError or a JsoncError.
 */
export async function offerToRemoveDoubled(
  client: McpClient,
  configurations: readonly string[],
  values: InstallValues,
  { io, environment, say }: { readonly io: Io; readonly environment: UserEnvironment; say(line: string): unknown },
): Promise<readonly DoubledServers[]> {
  const read = await Promise.all(configurations.map((file) => readConfiguration(file).catch(() => undefined)));
  const served = new Set(read.flatMap((configuration) => configuration?.entries.map((entry) => keyOf(entry)) ?? []));
  const doubled: DoubledServers[] = [];
  for (const source of await readClientServers(client.id, environment)) {
    const { file, scope, container, entries, findings } = source;
    // Its own message says so.
    if (configurations.includes(await realpath(file).catch(() => file))) continue;
    const own = entries.filter((entry) => !entry.isDisabled && served.has(keyOf(entry, findings)));
    if (own.length === 0) continue;
    const servers = own.map(({ name }) => name);
    const secrets = own.flatMap((entry) => secretsOf(entry, source));
    say(`${client.title} also has ${servers.join(", ")} in ${file}, so their tools appear twice.`);
    if (secrets.length > 0) {
      const each = secrets.map(({ server, field, variable }) => `${field} of ${server} (copy it to ${variable} first)`);
      say(`Their secrets are there in plain text: ${each.join(", ")}.`);
    }
    const mayAsk = !values.yes && !values.json && !values["dry-run"];
    const question = printableText(`Remove ${servers.join(", ")} from ${file}? [y/N] `);
    const reply = values["dry-run"] ? "n" : values.replace ? "y" : mayAsk ? await io.ask?.(question) : undefined;
    const isAgreed = /^y(?:es)?$/i.test(reply?.trim() ?? "");
    const isRemoved =
      isAgreed &&
      (await remove(
        file,
        own.map(({ path }) => [...(container ?? []).slice(0, -1), ...path.map(String)]),
        scope === "project" && container?.length === 1 ? environment.directory : undefined,
      ));
    if (isRemoved) say(`Removed ${servers.join(", ")} from ${file}.`);
    else if (isAgreed) say(`${file} changed in the meantime, so nothing was removed there. Run the command again.`);
    else if (reply === undefined) {
      // With the files that were found, so that it works in any folder.
      const known = { ...values, config: values.http ? [] : configurations };
      const given = entryOptions.flatMap((option) =>
        [known[option]].flat().flatMap((value) => (value ? [`--${option}`, ...(value === true ? [] : [value])] : [])),
      );
      say(`To remove them from that file: ${commandLine("install", client.id, ...given, "--replace")}`);
    }
    doubled.push({ file, servers, secrets, isRemoved });
  }
  return doubled;
}

/** Equal for entries of the same name that reach the same server. */
function keyOf(entry: Entry, findings: readonly Finding[] = []): string {
  const portable = toPortableEntry(
    entry,
    findings.filter(({ server }) => server === entry.name),
  );
  if ("problem" in portable) return "";
  const { url, command, args } = portable.entry;
  return JSON.stringify([entry.name, url ?? [command, args]]);
}

function secretsOf({ name, path: at }: Entry, { findings }: ClientServers): DoubledServers["secrets"] {
  return findings
    .filter(({ code, server }) => code === "literal-secret" && server === name)
    .map(({ path = [], suggested }) => ({
      server: name,
      field: formatPath(path.slice(at.length)),
      variable: suggested?.variable ?? "TOKEN",
    }));
}

async function remove(
  file: string,
  paths: readonly (readonly string[])[],
  project: string | undefined,
): Promise<boolean> {
  const current = await readClientFile(file, project);
  return replaceClientFile(current, paths.reduce(removeJsoncMember, current.text), false);
}
