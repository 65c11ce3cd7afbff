import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { printableText } from "@wirescope/channelz/internal";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import { suggest } from "@wirescope/tool-server/internal/suggest";
import type { Io } from "../io.js";
import { readJsoncMember } from "../jsonc/edit-jsonc.js";
import { JsoncError } from "../jsonc/parse-jsonc.js";
import { formatJson, jsonOf } from "../output/json.js";
import { createScreen, type Screen } from "../output/screen.js";
import { renderTable } from "../output/table.js";
import { wrap } from "../output/text-layout.js";
import { isOnPath } from "../program.js";
import { UsageError } from "../usage-error.js";
import { changeClientFile, type InstallContext } from "./change-client-file.js";
import { entryPath, manualClients, snippetFor } from "./client-entry.js";
import { ClientFileError, readClientFile } from "./client-file.js";
import { type McpClient, mcpClients, type Scope, type UserEnvironment } from "./clients.js";
import { gatewayCommand } from "./gateway-command.js";
import type { InstallValues } from "./install-options.js";
import { findMissingVariables, missingVariablesNotes } from "./missing-variables.js";

/** Installs the gateway in a client, or lists the clients. Returns the exit code. */
export async function runInstall(
  named: string | undefined,
  values: InstallValues,
  io: Io,
  environment: UserEnvironment = userEnvironment(io),
): Promise<number> {
  const screen = createScreen(io, values["no-color"]);
  const name = values.name ?? "wirescope";
  if (name === "" || name !== printableText(name)) throw new UsageError("--name must be a printable name.");
  if (named === undefined) return list(name, values, screen, environment);
  const client = mcpClients.find(({ id }) => id === named);
  if (client === undefined) return printManualEntry(named, name, values, { io, screen, environment });
  try {
    return await changeClientFile(client, name, values, { io, screen, environment });
  } catch (error) {
    if (!(error instanceof JsoncError) && !(error instanceof ClientFileError)) throw error;
    const message = error instanceof JsoncError ? brokenText(client, values, environment, error) : error.message;
    io.stderr.write(`wirescope: ${printableText(message)}\n`);
    return 1;
  }
}

function userEnvironment({ env }: Io): UserEnvironment {
  return { env, platform: process.platform, home: env.HOME || homedir(), directory: process.cwd() };
}

function brokenText(
  client: McpClient,
  { scope = "user" }: InstallValues,
  environment: UserEnvironment,
  error: JsoncError,
): string {
  const { user, project } = client.files(environment);
  return `${scope === "project" ? project : user}:${error.message} Fix the file first. It was not changed.`;
}

async function list(
  name: string,
  values: InstallValues,
  screen: Screen,
  environment: UserEnvironment,
): Promise<number> {
  const given = (["http", "remove", "dry-run", "yes"] as const).find((option) => values[option]);
  if (given !== undefined) throw new UsageError(`--${given} requires the name of a client.`);
  const rows = await listClients(name, environment);
  if (values.json) {
    const all = rows.map(({ client, isFound, installed, problem }) => [
      client.id,
      { title: client.title, isFound, installed, problem, files: client.files(environment) },
    ]);
    screen.print(formatJson(Object.fromEntries(all)));
    return 0;
  }
  const { palette } = screen;
  screen.printAll(
    renderTable<ClientRow>(
      [
        { title: "CLIENT", text: ({ client }) => client.id, paint: () => palette.strong },
        { title: "NAME", text: ({ client }) => client.title },
        {
          title: "INSTALLED",
          text: ({ isFound }) => (isFound ? "found" : "not found"),
          paint: ({ isFound }) => (isFound ? palette.good : palette.faint),
        },
        {
          title: "ENTRY",
          text: ({ installed, problem }) =>
            installed.length > 0
              ? `installed (${installed.join(", ")})`
              : problem === undefined
                ? "-"
                : "file is invalid",
        },
        {
          title: "FILE",
          minWidth: 16,
          text: ({ client }) => client.files(environment).user,
          paint: () => palette.faint,
        },
      ],
      rows,
      screen.width,
    ),
  );
  const note = `${commandLine("install")} <client> shows the change and asks before it writes. Also: codex, other.`;
  screen.printAll(["", ...wrap(note, screen.width, "")]);
  return 0;
}

async function printManualEntry(
  named: string,
  name: string,
  values: InstallValues,
  { io, screen, environment }: InstallContext,
): Promise<number> {
  const isKnown = (manualClients as readonly string[]).includes(named);
  if (values.http || values.remove) {
    throw new UsageError(`--http and --remove work only for clients whose file install can change: ${known()}.`);
  }
  const gateway = await gatewayCommand(values, environment);
  const missing = await findMissingVariables(gateway.configurations, values["env-file"], io.env);
  if (!isKnown) {
    const near = suggest(named, [...mcpClients.map(({ id }) => id), ...manualClients]);
    const hint = near === undefined ? "" : ` Did you mean ${near}?`;
    const text = `Unknown client ${JSON.stringify(named)}.${hint} Clients: ${known()}, codex, other.`;
    io.stderr.write(`wirescope: ${printableText(text)}\n`);
  }
  if (values.json) {
    const { command, args } = gateway;
    screen.print(formatJson(jsonOf({ client: isKnown ? named : null, name, entry: { command, args }, missing })));
  } else {
    const notes = missingVariablesNotes(missing);
    const lines = [...snippetFor(named, name, gateway, environment), ...(notes.length === 0 ? [] : ["", ...notes])];
    screen.printAll(lines.map((line) => printableText(line)));
  }
  return isKnown ? 0 : 2;
}

function known(): string {
  return mcpClients.map(({ id }) => id).join(", ");
}

/** The state of a client on this machine. */
interface ClientRow {
  readonly client: McpClient;
  readonly isFound: boolean;
  /** Which files contain the entry. */
  readonly installed: readonly Scope[];
  /** Why its file could not be read. */
  readonly problem: string | undefined;
}

/** Looks for each client, and for the entry of this name in its files. */
async function listClients(name: string, environment: UserEnvironment): Promise<ClientRow[]> {
  return Promise.all(mcpClients.map((client) => rowOf(client, name, environment)));
}

async function rowOf(client: McpClient, name: string, environment: UserEnvironment): Promise<ClientRow> {
  const isFound =
    client.installPaths(environment).some((path) => existsSync(path)) ||
    client.commands.some((it) => isOnPath(it, environment));
  const installed: Scope[] = [];
  let problem: string | undefined;
  for (const [scope, file] of Object.entries(client.files(environment)) as [Scope, string][]) {
    try {
      const { text } = await readClientFile(file);
      if (readJsoncMember(text, entryPath(client, text, name)) !== undefined) installed.push(scope);
    } catch (error) {
      problem = `${file}: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
  return { client, isFound, installed, problem };
}
