import { printableText } from "@wirescope/channelz/internal";
import { commandLine, shellWord } from "@wirescope/tool-server/internal/command-line";
import { requireGateway } from "../gateway-file.js";
import type { Io } from "../io.js";
import { readJsoncMember } from "../jsonc/edit-jsonc.js";
import { formatJson, jsonOf } from "../output/json.js";
import type { Screen } from "../output/screen.js";
import { UsageError } from "../usage-error.js";
import { type EntryFields, entryPath, httpEntry, stdioEntry, withEntry, withoutEntry } from "./client-entry.js";
import { type ClientFile, makePrivate, readClientFile, replaceClientFile } from "./client-file.js";
import type { McpClient, Scope, UserEnvironment } from "./clients.js";
import { offerToRemoveDoubled } from "./doubled-servers.js";
import { assertNotItself, gatewayCommand } from "./gateway-command.js";
import type { InstallValues } from "./install-options.js";
import { findMissingVariables, type MissingVariable, missingVariablesNotes } from "./missing-variables.js";
import { type Preview, previewChange } from "./preview-change.js";

/** The surroundings of an installation. */
export interface InstallContext {
  readonly io: Io;
  readonly screen: Screen;
  readonly environment: UserEnvironment;
}

/** The change to make, with notes for the user. */
interface EntryChange {
  /** Undefined to remove the entry. */
  readonly entry: EntryFields | undefined;
  readonly hasToken: boolean;
  readonly notes: readonly string[];
  readonly missing: readonly MissingVariable[];
  /** The files with the servers of the gateway. */
  readonly configurations: readonly string[];
}

const maxRounds = 10;

/** Shows the change to a client's file, asks, and writes it. Returns the exit code. Rejects with a ClientFileError or a JsoncError. */
export async function changeClientFile(
  client: McpClient,
  name: string,
  values: InstallValues,
  { io, screen, environment }: InstallContext,
): Promise<number> {
  const scope: Scope = values.scope === "project" ? "project" : "user";
  const named = client.files(environment)[scope];
  if (named === undefined) throw new UsageError(`${client.title} has no known project file. Use --scope user.`);
  const project = scope === "project" ? environment.directory : undefined;
  const { path: target } = await readClientFile(named, project);
  const wanted = values.remove ? removal : await changeOf(client, scope, values, { io, environment, target });
  const print = (line: string): unknown => (values.json ? io.stderr : io.stdout).write(`${line}\n`);
  const say = (line: string): unknown => print(printableText(line));

  for (let round = 0; round < maxRounds; round += 1) {
    const file = await readClientFile(named, project);
    const path = entryPath(client, file.text, name);
    const after = wanted.entry === undefined ? withoutEntry(file.text, path) : withEntry(file.text, path, wanted.entry);
    const had = readJsoncMember(file.text, path) !== undefined;
    const change = after === file.text ? "none" : wanted.entry === undefined ? "removed" : had ? "changed" : "added";
    const preview = previewChange(file.text, after, path);
    const finish = async (isWritten: boolean): Promise<void> => {
      const isInstalled = isWritten || change === "none" || values["dry-run"];
      const configurations = isInstalled ? wanted.configurations : [];
      const doubled = await offerToRemoveDoubled(client, configurations, values, { io, environment, say });
      if (!values.json) return;
      const diff = (change === "none" ? [] : preview.lines).map(({ sign, text }) => `${sign}${text}`);
      const facts = {
        client: client.id,
        scope,
        file: file.path,
        name,
        change,
        isWritten,
        missing: wanted.missing,
        doubled,
      };
      screen.print(formatJson(jsonOf({ ...facts, line: change === "none" ? null : preview.line, diff })));
    };

    if (change === "none") {
      say(
        wanted.entry === undefined
          ? `${name} is not in ${file.path}. Nothing to change.`
          : `${name} is already in ${file.path}. Nothing to change.`,
      );
      for (const note of missingVariablesNotes(wanted.missing)) say(note);
      if (wanted.hasToken && !values["dry-run"] && (await makePrivate(file.path))) {
        say("It contains a token, so its mode was changed: only you can read it now.");
      }
      await finish(false);
      return 0;
    }
    show(file, preview, screen, print);
    if (values["dry-run"]) {
      say("Nothing was written (--dry-run).");
      await finish(false);
      return 0;
    }
    const reply = values.yes ? "y" : await io.ask?.("Write this change? [y/N] ");
    if (reply === undefined || !/^y(?:es)?$/i.test(reply.trim())) {
      say(`Nothing was written.${reply === undefined ? " Use --yes to write without a prompt." : ""}`);
      await finish(false);
      return 1;
    }
    if (await replaceClientFile(file, after, wanted.hasToken)) {
      say(wanted.entry === undefined ? `Removed ${name} from ${file.path}.` : `Wrote ${name} to ${file.path}.`);
      for (const note of [...wanted.notes, ...missingVariablesNotes(wanted.missing)]) say(note);
      say(wanted.entry === undefined ? `Restart ${client.title} if it still shows the entry.` : client.next);
      await finish(true);
      return 0;
    }
    say(`${file.path} changed in the meantime. Check the new change.`);
  }
  io.stderr.write(`wirescope: ${printableText(`${target} keeps changing. Quit ${client.title} and try again.`)}\n`);
  return 1;
}

const removal: EntryChange = { entry: undefined, hasToken: false, notes: [], missing: [], configurations: [] };

async function changeOf(
  client: McpClient,
  scope: Scope,
  values: InstallValues,
  { io, environment, target }: { readonly io: Io; readonly environment: UserEnvironment; readonly target: string },
): Promise<EntryChange> {
  if (!values.http) {
    const gateway = await gatewayCommand(values, environment);
    await assertNotItself(target, gateway.configurations);
    const own = Object.values(client.files(environment));
    const twice = gateway.configurations.filter((file) => own.includes(file));
    const asConfigured = gateway.configurations.map((file) => `--config ${shellWord(file)}`).join(" ");
    const notes = [
      ...(scope === "project"
        ? ["The entry contains paths of this machine, so other users of the project need their own."]
        : []),
      ...twice.map(
        (file) =>
          `${client.title} also reads ${file}, so its servers appear twice. Move them to another file and pass it with --config.`,
      ),
      `Servers that you have not approved are not started. To list them: ${commandLine("trust")} ${asConfigured}`,
    ];
    const missing = await findMissingVariables(gateway.configurations, values["env-file"], io.env);
    const { configurations } = gateway;
    return { entry: stdioEntry(client, gateway), hasToken: false, notes, missing, configurations };
  }
  if (client.http === undefined) {
    throw new UsageError(
      `${client.title} has no known way to send headers to a URL. Remove --http, so that it starts the gateway itself.`,
    );
  }
  const running = await requireGateway(io);
  const { token } = running;
  if (token !== undefined && scope === "project") {
    throw new UsageError("A project file is shared and must not contain a token. Use --scope user, or remove --http.");
  }
  const notes =
    token === undefined ? [] : ["The file now contains the token of the gateway, and only you can read it."];
  if (token !== undefined && running.tokenFile === undefined) {
    notes.push(
      "The token changes at each start of the gateway. To keep it, start the gateway with --token-file <file> and install again.",
    );
  }
  const entry = httpEntry(client.http(running.endpoint), token);
  const { configurations = [] } = running;
  return { entry, hasToken: token !== undefined, notes, missing: [], configurations };
}

function show(
  { path, exists }: ClientFile,
  { line, lines }: Preview,
  { palette }: Screen,
  print: (line: string) => unknown,
): void {
  print(printableText(exists ? `${path}, from line ${line}:` : `${path} (new file):`));
  print("");
  const paints = { "+": palette.good, "-": palette.bad, " ": palette.faint };
  for (const { sign, text } of lines) print(paints[sign](`${sign} ${printableText(text.replaceAll("\t", "    "))}`));
  print("");
}
