import { resolve } from "node:path";
import { printableText } from "@wirescope/channelz/internal";
import { createSecretRegistry, type SecretRegistry, ToolServerError } from "@wirescope/tool-server";
import {
  type Configuration,
  type Finding,
  findConfigurationFile,
  parseConfiguration,
  pluginRootOf,
  readConfiguration,
} from "@wirescope/tool-server/config";
import { configurationFileAt } from "@wirescope/tool-server/internal";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import type { Io } from "../io.js";
import type { OptionValues } from "../options.js";
import { UsageError } from "../usage-error.js";
import type { AdHocServer } from "./ad-hoc-server.js";
import type { configurationOptions } from "./server-options.js";

interface LoadedConfiguration {
  readonly file: string;
  readonly pluginRoot: string;
  readonly configuration: Configuration;
  readonly secrets: SecretRegistry;
}

/** Reads the configuration that the options name, or the default one. Throws a UsageError if it does not exist or cannot be read. */
export async function loadConfiguration(
  values: OptionValues<typeof configurationOptions> & { readonly adHoc?: AdHocServer | undefined },
): Promise<LoadedConfiguration> {
  if (values.adHoc !== undefined) return adHocConfiguration(values.adHoc);
  const root = values["plugin-root"];
  const named = values.config;
  const next = "Options: --config <file>; --endpoint for the running gateway.";
  const file = await (named === undefined
    ? asUsageError(() => findConfigurationFile(process.cwd(), root), next)
    : configurationFileAt(named));
  const secrets = createSecretRegistry();
  const configuration = await asUsageError(() => readConfiguration(file, { secrets }));
  assertReadable(configuration, file);
  return { file, pluginRoot: resolve(root ?? pluginRootOf(file)), configuration, secrets };
}

/** A configuration with the server given on the command line. Throws a UsageError if its url or a header is invalid. */
function adHocConfiguration({ name, entry }: AdHocServer): LoadedConfiguration {
  const secrets = createSecretRegistry();
  const text = JSON.stringify({ mcpServers: { [name]: entry } });
  const configuration = parseConfiguration(text, { secrets });
  const wrong = configuration.findings.find(({ severity }) => severity === "error");
  if (wrong !== undefined) throw new UsageError(`${wrong.message} ${wrong.fix}`);
  // For its trust, it counts as configured in this folder.
  return { file: process.cwd(), pluginRoot: process.cwd(), configuration, secrets };
}

/** Turns CONFIGURATION_UNREADABLE into a UsageError. `next` is its advice; default: to read the help. */
export async function asUsageError<T>(task: () => Promise<T>, next?: string): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (!ToolServerError.is(error, "CONFIGURATION_UNREADABLE")) throw error;
    throw new UsageError(error.message, { cause: error, ...(next === undefined ? {} : { next }) });
  }
}

/** Throws a UsageError with the first error that makes the whole file unusable, and the command that lists all. */
export function assertReadable({ findings }: Configuration, file: string): void {
  const broken = findings.find(({ server, severity }) => severity === "error" && server === undefined);
  if (broken === undefined) return;
  const { line, column, message, fix } = broken;
  const next = `For all problems: ${commandLine("check", file)}`;
  throw new UsageError(`${file}:${line}:${column}: ${message} ${fix}`, { next });
}

/** The first error of each entry that is invalid, and so not among the entries of the configuration. */
export function invalidEntries({
  entries,
  findings,
}: Configuration): readonly (Finding & { readonly server: string })[] {
  const seen = new Set(entries.map(({ name }) => name));
  return findings.flatMap((finding) => {
    const { server, severity } = finding;
    if (severity !== "error" || server === undefined || seen.has(server)) return [];
    seen.add(server);
    return [{ ...finding, server }];
  });
}

/** Reports ignored lines of environment files: their variables will be missing. */
export function reportEnvFindings(findings: readonly Finding[], { stderr }: Pick<Io, "stderr">): void {
  for (const { severity, file = "", line, column, message, fix } of findings) {
    if (severity !== "error") continue;
    stderr.write(`wirescope: ${printableText(`${file}:${line}:${column}: ${message} ${fix} The line is ignored.`)}\n`);
  }
}
