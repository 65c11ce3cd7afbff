import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { createSecretRegistry, fingerprintEntry, type SecretRegistry } from "@wirescope/tool-server";
import {
  type CheckReport,
  checkConfiguration,
  type Entry,
  type Finding,
  findConfigurationFile,
  parseConfiguration,
  pluginRootOf,
  readConfigurationFile,
} from "@wirescope/tool-server/config";
import { configurationFileAt, readReadme, readVariables, uncoveredNotice } from "@wirescope/tool-server/internal";
import { setServerOptions } from "@wirescope/tool-server/internal/command-line";
import { exitCode } from "../failure.js";
import type { Io } from "../io.js";
import type { OptionValues } from "../options.js";
import { formatJson, jsonOf } from "../output/json.js";
import { createScreen, type Screen } from "../output/screen.js";
import { storedInputs } from "../tool-server/input-values.js";
import { asUsageError } from "../tool-server/loaded-configuration.js";
import { redactingIo } from "../tool-server/redaction.js";
import { sameServers } from "../tool-server/server-options.js";
import { UsageError } from "../usage-error.js";
import type { checkOptions } from "./check-options.js";
import { exitCodeOf, type NameOf, renderFindings, renderPermissions, renderReport, reportToJson } from "./report.js";

/** Checks the named configuration, or the default one, and prints the findings. Returns the exit code. */
export async function runCheck(
  argument: string | undefined,
  values: OptionValues<typeof checkOptions>,
  io: Io,
): Promise<number> {
  const secrets = createSecretRegistry();
  const screen = createScreen(redactingIo(io, secrets), values["no-color"]);
  if (argument !== undefined && values.config !== undefined) {
    throw new UsageError("Name the file once: as an argument or with --config.");
  }
  const named = argument ?? values.config;
  setServerOptions(sameServers({ ...values, config: named }));
  const { file, report } = await asUsageError(() => check(named, values, io, secrets));
  const here = process.cwd();
  const nameOf: NameOf = (path) => {
    const short = relative(here, path);
    return short.startsWith("..") ? path : short;
  };
  if (values.live && values["file-only"])
    throw new UsageError("--live cannot be used with --file-only, because it needs the values of variables.");
  if (!values.json) screen.printAll(renderReport(report, file, nameOf, screen, values.live));
  const live = values.live ? await checkLive(file, report, nameOf, values, io) : undefined;
  if (values.json)
    (live?.screen ?? screen).print(formatJson({ ...reportToJson(live?.report ?? report, file), ...live?.json }));
  return live?.isMet === false ? exitCode.failure : exitCodeOf(report.findings, values.strict);
}

/** The result of connecting to the servers: whether they meet the requirements, and the report completed by them. */
interface LiveCheck {
  readonly isMet: boolean;
  readonly report: CheckReport;
  readonly json: JsonObject;
  /** Redacts also the secrets that became known meanwhile. */
  readonly screen: Screen;
}

/** Diagnoses the servers of the file, and prints the requirements and permissions of each unless `--json` is given. */
async function checkLive(
  file: string,
  report: CheckReport,
  nameOf: NameOf,
  values: OptionValues<typeof checkOptions>,
  io: Io,
): Promise<LiveCheck> {
  const { openExplainableServers } = await import("../why/explain-configured.js");
  const { isMet, checkNotes, renderLive, explainAll } = await import("./live.js");
  const { checkScopes, withScopes } = await import("./live.js");
  const servers = await openExplainableServers({ ...values, config: file }, io);
  const screen = createScreen(servers.io, values["no-color"]);
  try {
    const explanations = await explainAll(servers);
    const permissions = withScopes(report.permissions, explanations);
    const { entries } = servers.configuration;
    const readme = await readReadme(resolve(values["plugin-root"] ?? pluginRootOf(file)));
    const undocumented = report.isPlugin ? checkScopes(report, permissions, entries, readme) : [];
    const notes = [...checkNotes(explanations, entries), ...undocumented];
    if (!values.json) {
      screen.printAll([
        ...renderLive(explanations, screen),
        "",
        ...renderPermissions({ ...report, permissions }, screen, "The server does not report it."),
        ...renderFindings(notes, file, nameOf, screen),
      ]);
    }
    return {
      isMet: explanations.every(isMet),
      report: { ...report, permissions, findings: [...report.findings, ...notes] },
      json: { live: jsonOf(explanations) },
      screen,
    };
  } finally {
    servers.close();
  }
}

/** Files of a plugin in its root. */
const manifests = [".claude-plugin", "plugin.json"];

async function check(
  argument: string | undefined,
  values: OptionValues<typeof checkOptions>,
  io: Io,
  secrets: SecretRegistry,
): Promise<{ readonly file: string; readonly report: CheckReport }> {
  const root = values["plugin-root"];
  const file =
    argument === undefined ? await findConfigurationFile(process.cwd(), root) : await configurationFileAt(argument);
  const text = await readConfigurationFile(file);
  const envFiles = values["env-file"].map((each) => resolve(each));
  const { variables, findings } = await readVariables(envFiles, io.env);
  const configuration = parseConfiguration(text, { file });
  const inputs = values["file-only"] ? {} : await storedInputs({ configuration, file, variables, secrets, io }, values);
  const pluginRoot = resolve(root ?? pluginRootOf(file));
  const report = await checkConfiguration(text, {
    file,
    pluginRoot,
    isPlugin:
      root !== undefined ||
      text.includes("PLUGIN_ROOT}") ||
      manifests.some((name) => existsSync(join(pluginRoot, name))),
    variables: values["file-only"] ? undefined : { ...variables, ...inputs },
    envFiles,
    secrets,
  });
  const uncovered = await Promise.all(configuration.entries.map((entry) => uncoveredNotes(entry, pluginRoot, secrets)));
  return { file, report: { ...report, findings: [...report.findings, ...findings, ...uncovered.flat()] } };
}

/** What an approval of an entry would not cover. */
async function uncoveredNotes(entry: Entry, pluginRoot: string, secrets: SecretRegistry): Promise<Finding[]> {
  const { uncovered = [] } = await fingerprintEntry(entry, { pluginRoot });
  const { path, line, column, name } = entry;
  return uncovered.map((program) => ({
    code: "code-not-covered",
    severity: "note",
    message: secrets.redact(uncoveredNotice(program)),
    fix: "Review that code when it changes, or start a file of the project, such as node server.js.",
    path,
    line,
    column,
    server: secrets.redact(name),
  }));
}
