import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { printableText } from "@wirescope/channelz/internal";
import type { Entry } from "@wirescope/tool-server/config";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import { suggest } from "@wirescope/tool-server/internal/suggest";
import { exitCode } from "../failure.js";
import { ClientFileError, replaceClientFile } from "../install/client-file.js";
import { type ClientServers, importableClients, readClientServers } from "../install/client-servers.js";
import { mcpClients, type UserEnvironment } from "../install/clients.js";
import { toPortableEntry } from "../install/portable-entry.js";
import type { Io } from "../io.js";
import { JsoncError } from "../jsonc/parse-jsonc.js";
import type { OptionValues } from "../options.js";
import { formatJson, jsonOf } from "../output/json.js";
import { createScreen, type Screen } from "../output/screen.js";
import { type Column, renderTable } from "../output/table.js";
import { wrap } from "../output/text-layout.js";
import { isGatewayEntry } from "../tool-server/gateway-entry.js";
import { UsageError } from "../usage-error.js";
import { findFileToWrite, hasEntry, problemsOf, readFileToWrite, withEntries } from "./configuration-text.js";
import type { importOptions } from "./configure-options.js";
import { referenceFiles } from "./reference-files.js";

type ImportValues = OptionValues<typeof importOptions>;

/** A server of a client, and whether it is imported. */
interface FoundServer {
  readonly client: string;
  readonly file: string;
  readonly server: string;
  readonly type: Entry["type"];
  readonly target: string;
  /** Why it is not imported; undefined if it is. */
  readonly skipped: string | undefined;
  /** The variables that replace secrets of the client's file. */
  readonly variables: readonly string[];
  readonly entry: Readonly<Record<string, unknown>> | undefined;
  /** The inputs that the entry uses. */
  readonly inputs: readonly { readonly id: string; readonly written: unknown }[];
}

/** Shows the servers of one client, or of all, asks, and writes them into the configuration. Returns the exit code. */
export async function runImport(
  client: string | undefined,
  values: ImportValues,
  io: Io,
  environment: UserEnvironment = environmentOf(io),
): Promise<number> {
  if (client !== undefined && !importableClients.includes(client)) {
    const near = suggest(client, importableClients);
    const hint = near === undefined ? `Clients: ${importableClients.join(", ")}.` : `Did you mean ${near}?`;
    throw new UsageError(`Unknown client ${JSON.stringify(client)}. ${hint}`);
  }
  const screen = createScreen(io, values["no-color"]);
  const sources = await readClientServers(client, environment);
  if (values.reference) {
    const hasServers = ({ entries, canBeReferenced }: ClientServers): boolean =>
      canBeReferenced && entries.some((entry) => !isGatewayEntry(entry));
    const files = sources.filter(hasServers).map(({ file }) => file);
    return referenceFiles(files, values, io, screen);
  }
  const named = await findFileToWrite(values.config);
  try {
    for (;;) {
      const file = await readFileToWrite(named);
      const found = await selectServers(sources, file);
      const chosen = found.filter(({ skipped }) => skipped === undefined);
      const finish = (isWritten: boolean, code: number): number => {
        if (!values.json) return code;
        const problems = sources.flatMap(({ client, file, problem }) => (problem ? [{ client, file, problem }] : []));
        const servers = found.map(({ entry: _entry, inputs: _inputs, ...row }) => row);
        screen.print(formatJson(jsonOf({ file: file.path, isWritten, servers, problems })));
        return code;
      };
      if (!values.json) printFound(found, sources, screen);
      if (chosen.length === 0) return finish(false, exitCode.ok);
      const count = `${chosen.length} ${chosen.length === 1 ? "server" : "servers"}`;
      if (values["dry-run"]) {
        if (!values.json) screen.print(`Nothing was written (--dry-run). ${count} would be added to ${file.path}.`);
        return finish(false, exitCode.ok);
      }
      // No prompt with --json.
      const question = `Add ${count} to ${printableText(file.path)}? [y/N] `;
      const reply = values.yes ? "y" : values.json ? "n" : await io.ask?.(question);
      if (!/^y(?:es)?$/i.test(reply?.trim() ?? "")) {
        const next = reply === undefined ? " Use --yes to write without a prompt." : "";
        if (!values.json) screen.print(`Nothing was written.${next}`);
        return finish(false, exitCode.failure);
      }
      const entries = Object.fromEntries(chosen.map(({ server, entry }) => [server, entry]));
      const { text } = withEntries(
        file.text,
        entries,
        file.path,
        chosen.flatMap(({ inputs }) => inputs),
      );
      if (!(await replaceClientFile(file, text, false))) continue;
      if (!values.json) printNext(chosen, file.path, screen);
      return finish(true, exitCode.ok);
    }
  } catch (error) {
    if (!(error instanceof JsoncError) && !(error instanceof ClientFileError)) throw error;
    const message = error instanceof JsoncError ? `${named}:${error.message} It was not changed.` : error.message;
    io.stderr.write(`wirescope: ${printableText(message)}\n`);
    return exitCode.failure;
  }
}

function environmentOf({ env }: Io): UserEnvironment {
  return { env, platform: process.platform, home: env.HOME || homedir(), directory: process.cwd() };
}

/** Decides which servers are imported. Of several with the same name, the first is. */
async function selectServers(
  sources: readonly ClientServers[],
  target: { readonly path: string; readonly text: string },
): Promise<FoundServer[]> {
  const taken = new Set<string>();
  const found: FoundServer[] = [];
  for (const { client, file, entries, findings, inputs, secrets } of sources) {
    // The configuration itself may be the project file of a client.
    if ((await realpath(file).catch(() => file)) === target.path) continue;
    for (const entry of entries) {
      const server = entry.name;
      const portable = toPortableEntry(
        entry,
        findings.filter((finding) => finding.server === server),
      );
      const own = { entry: undefined, variables: [], ...portable };
      const skipped = hasEntry(target.text, server)
        ? "already in the configuration"
        : isGatewayEntry(entry)
          ? "starts the gateway itself"
          : taken.has(server)
            ? "another client has a server with this name"
            : "problem" in portable
              ? portable.problem
              : errorOf(server, portable.entry);
      if (skipped === undefined) taken.add(server);
      const used = JSON.stringify(own.entry ?? {});
      found.push({
        client,
        file,
        server,
        type: entry.type,
        target: secrets.redact(targetOf(entry)),
        skipped,
        variables: own.variables,
        entry: own.entry,
        inputs: inputs.filter(({ id }) => used.includes(`\${input:${id}}`)),
      });
    }
  }
  return found;
}

/** The first error in the new entry, by the same check as for any configuration. */
function errorOf(server: string, entry: Readonly<Record<string, unknown>>): string | undefined {
  const { configuration } = withEntries("", { [server]: entry });
  return problemsOf(configuration, server).find(({ severity }) => severity === "error")?.message;
}

function targetOf(entry: Entry): string {
  if (entry.type !== "stdio") return entry.url.template.text;
  return [entry.command, ...entry.args].map(({ template }) => template.text).join(" ");
}

function printFound(found: readonly FoundServer[], sources: readonly ClientServers[], screen: Screen): void {
  for (const { file, problem } of sources) {
    if (problem !== undefined)
      screen.printAll(wrap(printableText(`${file} was not read: ${problem}`), screen.width, ""));
  }
  if (found.length === 0) {
    screen.print("No servers found in the files of other clients.");
    return;
  }
  screen.printAll([...renderTable(columns(screen), found, screen.width), ""]);
}

function printNext(chosen: readonly FoundServer[], file: string, screen: Screen): void {
  const variables = [...new Set(chosen.flatMap((server) => server.variables))];
  const secrets =
    variables.length === 0
      ? []
      : [
          `Secrets were not copied. Set these variables in your environment or in a file for --env-file: ${variables.join(", ")}.`,
        ];
  const lines = [
    `Added ${chosen.map(({ server }) => server).join(", ")} to ${file}.`,
    ...secrets,
    `Approve them: ${commandLine("trust", "--all")}`,
    ...remainingNotes(chosen, file),
  ];
  for (const line of lines) screen.printAll(wrap(printableText(line), screen.width, ""));
}

/** Where the servers are still configured, and how to change that. */
function remainingNotes(chosen: readonly FoundServer[], configuration: string): string[] {
  return [...new Set(chosen.map(({ file }) => file))].map((file) => {
    const servers = chosen.filter((server) => server.file === file);
    const client = servers[0]?.client ?? "";
    const secret = servers.some(({ variables }) => variables.length > 0) ? ", with secrets in plain text" : "";
    const next = mcpClients.some(({ id }) => id === client)
      ? `To use the gateway there, and remove them: ${commandLine("install", client, "--config", configuration)}`
      : "Remove them there once the client uses the gateway.";
    return `${servers.map(({ server }) => server).join(", ")} also remain in ${file}${secret}. ${next}`;
  });
}

function columns({ palette }: Screen): Column<FoundServer>[] {
  return [
    { title: "CLIENT", minWidth: 8, text: ({ client }) => client },
    { title: "SERVER", minWidth: 8, text: ({ server }) => server, paint: () => palette.strong },
    {
      title: "IMPORT",
      minWidth: 10,
      text: ({ skipped }) => skipped ?? "yes",
      paint: ({ skipped }) => (skipped === undefined ? palette.good : palette.faint),
    },
    { title: "TYPE", text: ({ type }) => type },
    { title: "TARGET", minWidth: 16, text: ({ target }) => target },
  ];
}
