import { relative } from "node:path";
import { printableText } from "@wirescope/channelz/internal";
import { notTrusted, ToolServerError } from "@wirescope/tool-server";
import type { Finding } from "@wirescope/tool-server/config";
import { uncoveredNotice, usesOAuth } from "@wirescope/tool-server/internal";
import { commandLine, setServerOptions, shellWord } from "@wirescope/tool-server/internal/command-line";
import { exitCode } from "../failure.js";
import { ClientFileError, replaceClientFile } from "../install/client-file.js";
import type { Io } from "../io.js";
import { JsoncError } from "../jsonc/parse-jsonc.js";
import { type OptionValues, parseOptions } from "../options.js";
import { formatJson, jsonOf } from "../output/json.js";
import { createScreen } from "../output/screen.js";
import type { AdHocServer } from "../tool-server/ad-hoc-server.js";
import { trustFor } from "../tool-server/ask-for-trust.js";
import { openConfiguredServers } from "../tool-server/configured-servers.js";
import { sameServers, sameSignIns, serverOptions } from "../tool-server/server-options.js";
import { openTrustEvaluation } from "../tool-server/trust-evaluation.js";
import { UsageError } from "../usage-error.js";
import { findFileToWrite, hasEntry, problemsOf, readFileToWrite, withEntries } from "./configuration-text.js";
import type { addOptions } from "./configure-options.js";

type AddValues = OptionValues<typeof addOptions>;

/** Adds a server to the configuration and approves it. Returns the exit code. */
export async function runAdd(name: string, server: AdHocServer, values: AddValues, io: Io): Promise<number> {
  if (name === "" || name !== printableText(name)) throw new UsageError("The name must be printable.");
  const screen = createScreen(io, values["no-color"]);
  const entry = entryOf(server, values);
  setServerOptions(sameServers(values), sameSignIns(values));
  const named = await findFileToWrite(values.config);
  try {
    for (;;) {
      const file = await readFileToWrite(named);
      if (!values.replace && hasEntry(file.text, name)) {
        throw new UsageError(`${file.path} already has a server ${JSON.stringify(name)}.`, {
          next: "Choose another name, or use --replace.",
        });
      }
      const { text, configuration } = withEntries(file.text, { [name]: entry }, file.path);
      const problems = problemsOf(configuration, name);
      const wrong = problems.find(({ severity }) => severity === "error");
      if (wrong !== undefined) {
        throw new UsageError(`${wrong.message} Nothing was written.`, { next: adviceFor(wrong, server) });
      }
      for (const { message, fix } of problems) io.stderr.write(`wirescope: ${printableText(`${message} ${fix}`)}\n`);
      const isWritten = !values["dry-run"] && (await replaceClientFile(file, text, false));
      if (!isWritten && !values["dry-run"]) continue;
      const approval = isWritten ? await approve(name, file.path, values, io) : undefined;
      const added = configuration.entries.find((each) => each.name === name);
      const mayAdopt = approval?.state === "trusted" && added !== undefined && usesOAuth(added);
      const scopes = mayAdopt ? await adoptSignIn(name, server, file.path, values, io) : undefined;
      if (values.json) {
        const signIn = scopes && { from: server.name, scopes };
        screen.print(formatJson(jsonOf({ file: file.path, name, entry, isWritten, approval, signIn })));
      } else if (isWritten) {
        screen.print(printableText(`Added ${name} to ${shortName(file.path)}: ${targetOf(server)}`));
        screen.print(printableText(approval?.message ?? ""));
        if (scopes !== undefined) {
          const granted = scopes.length === 0 ? "" : ` Its scopes: ${scopes.join(", ")}.`;
          screen.print(
            printableText(
              `The entry takes over the sign-in of ${server.name}; the url alone no longer has one.${granted}`,
            ),
          );
        }
        screen.print(`List its tools: ${commandLine("tools", name)}`);
      } else {
        screen.printAll([`${shortName(file.path)} would have this entry:`, ""].map((line) => printableText(line)));
        screen.printAll(formatJson(jsonOf({ [name]: entry })).split("\n"));
        screen.printAll(["", "Nothing was written (--dry-run)."]);
      }
      return approval?.state === "denied" ? exitCode.failure : exitCode.ok;
    }
  } catch (error) {
    if (!(error instanceof JsoncError) && !(error instanceof ClientFileError)) throw error;
    const message = error instanceof JsoncError ? `${named}:${error.message} It was not changed.` : error.message;
    io.stderr.write(`wirescope: ${printableText(message)}\n`);
    return exitCode.failure;
  }
}

function entryOf({ entry }: AdHocServer, { type }: AddValues): Readonly<Record<string, unknown>> {
  if ("command" in entry) {
    if (type !== undefined) throw new UsageError("--type requires a url.");
    return { ...entry };
  }
  // Some programs that read the same file require it.
  return { type: type ?? (/^ws/i.test(entry.url) ? "ws" : "http"), ...entry };
}

/** A literal secret is the usual mistake. The single quotes keep the shell from expanding the variable. */
function adviceFor({ fix, suggested: { variable } = {} }: Finding, { entry }: AdHocServer): string {
  if (variable === undefined) return fix;
  const option =
    "command" in entry ? `--env 'NAME=\${${variable}}'` : `--header 'Authorization: Bearer \${${variable}}'`;
  return `Write a variable, in single quotes, such as ${option}, and set ${variable} in the environment.`;
}

interface ApprovalOutcome {
  readonly state: "trusted" | "denied" | "pending";
  readonly message: string;
}

/** The user typed the entry, so there is no prompt. A policy can still deny it. */
async function approve(name: string, file: string, values: AddValues, io: Io): Promise<ApprovalOutcome> {
  try {
    const { entries, evaluate } = await openTrustEvaluation(optionsFor(file, values), io);
    const entry = entries.find((each) => each.name === name);
    if (entry === undefined) return { state: "pending", message: `Approve it: ${commandLine("trust", name)}` };
    const shown = await evaluate(entry);
    if (shown.state === "new" || shown.state === "changed") await trustFor(io).approve(shown.subject);
    // An entry with a file that cannot be checked stays unapproved.
    const decision = await evaluate(entry);
    if (decision.state === "denied") return { state: "denied", message: notTrusted(name, decision).message };
    if (decision.state !== "trusted") return { state: "pending", message: notTrusted(name, decision).message };
    const uncovered = (decision.fingerprint.uncovered ?? []).map(uncoveredNotice);
    return { state: "trusted", message: ["It is approved, because you typed it.", ...uncovered].join(" ") };
  } catch (error) {
    if (!ToolServerError.is(error)) throw error;
    return { state: "pending", message: `It is not approved yet: ${error.message}` };
  }
}

/** Takes over a sign-in that was made with the url alone, so that no second one is needed. Returns its scopes. A failure is only reported. */
async function adoptSignIn(
  name: string,
  server: AdHocServer,
  file: string,
  values: AddValues,
  io: Io,
): Promise<readonly string[] | undefined> {
  try {
    await using servers = await openConfiguredServers(optionsFor(file, values), { ...io, ask: undefined });
    return await servers.adoptSignIn(name, server.name);
  } catch (error) {
    if (!ToolServerError.is(error) && !(error instanceof UsageError)) throw error;
    const message = `The sign-in of ${server.name}, if any, is not taken over, because stored sign-ins cannot be read. ${error.message}`;
    io.stderr.write(`wirescope: ${printableText(message)}\n`);
    return undefined;
  }
}

/** The options with which other commands use the file. */
function optionsFor(file: string, values: AddValues): OptionValues<typeof serverOptions> {
  const argv = [`--config=${file}`, ...values["env-file"].map((each) => `--env-file=${each}`), ...sameSignIns(values)];
  return parseOptions(serverOptions, argv).values;
}

function targetOf({ entry }: AdHocServer): string {
  return "command" in entry ? [entry.command, ...entry.args].map(shellWord).join(" ") : entry.url;
}

/** A file as shown to users: relative to the working directory, if it is inside. */
function shortName(file: string): string {
  const short = relative(process.cwd(), file);
  return short.startsWith("..") ? file : short;
}
