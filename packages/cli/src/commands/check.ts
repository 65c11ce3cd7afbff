import { dirname, relative, resolve } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import {
  type CheckReport,
  checkConfiguration,
  configurationFileName,
  findConfigurationFile,
  readConfigurationFile,
  type Variables,
} from "@wirescope/tool-server";
import { renderReport } from "../check/render-report.js";
import { reportToJson } from "../check/report-json.js";
import { exitCodeOf } from "../check/severity.js";
import { exitCode } from "../failure.js";
import type { Io } from "../io.js";
import { commonOptions, type OptionValues, parseOptions } from "../options.js";
import { formatJson } from "../output/json.js";
import { createScreen, type Screen } from "../output/screen.js";
import { fileOf, readable, readVariables } from "../tool-server/configuration-input.js";
import { jsonOf } from "../tool-server/json-of.js";
import { serverOptions } from "../tool-server/server-options.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";

const options = {
  "env-file": {
    type: "string",
    multiple: true,
    placeholder: "file",
    help: "take variables from this file too; what the environment sets counts before it",
  },
  "plugin-root": {
    type: "string",
    placeholder: "directory",
    help: "the value of HOST_PLUGIN_ROOT; default: where the file is",
  },
  "file-only": { type: "boolean", help: "judge the file without the values of variables, as in a build" },
  "allow-insecure-loopback": { type: "boolean", help: "accept http and ws to this machine" },
  strict: { type: "boolean", help: "exit with 1 for warnings too" },
  live: { type: "boolean", help: "then walk each server up to a token, and say what it does not meet; needs trust" },
  trust: { type: "boolean", help: "with --live: trust the entries for this run, without remembering" },
  ca: { type: "string", placeholder: "file", help: "with --live: trust this authority (PEM) besides the usual ones" },
  profile: serverOptions.profile,
  vault: serverOptions.vault,
  timeout: { type: "string", placeholder: "duration", help: "with --live: how long an answer may take; default 10s" },
  debug: { type: "boolean", help: "with --live: tell on standard error what happens; no secrets" },
  json: { type: "boolean", help: "print JSON in place of text" },
  ...commonOptions,
} as const;

/** Reads a configuration of tool servers and says all that is wrong with it. */
export const checkCommand: Command = {
  name: "check",
  summary: "say all that is wrong with a configuration of tool servers",
  parameters: ["[file]"],
  options,
  notes: [
    `Without a file, it is ${configurationFileName} here or, in a git repository, in a directory above.`,
    "Without --live nothing of it is run, and nothing is connected to. Secrets are never printed.",
    "It exits with 1 where there are errors; warnings and notes alone are 0, unless --strict says otherwise.",
    "With --live it also exits with 1 where a server does not meet what the protocol demands.",
  ],
  async run(args, io) {
    const { values, positionals } = parseOptions(options, args);
    if (positionals.length > 1) throw new UsageError(`check takes no argument "${positionals[1]}".`);
    const screen = createScreen(io, values["no-color"]);
    const { file, report } = await readable(() => check(positionals[0], values, io.env));
    const here = process.cwd();
    const nameOf = (path: string): string => {
      const short = relative(here, path);
      return short.startsWith("..") ? path : short;
    };
    if (values.live && values["file-only"])
      throw new UsageError("--live needs the variables, and --file-only has none.");
    if (!values.json) screen.printAll(renderReport(report, file, nameOf, screen));
    const live = values.live ? await checkLive(file, values, io, screen) : undefined;
    if (values.json)
      screen.print(formatJson({ ...reportToJson(report, file), ...(live === undefined ? {} : live.json) }));
    return live?.isMet === false ? exitCode.failure : exitCodeOf(report.findings, values.strict);
  },
};

/** Walks the servers of the file, and prints what they meet, unless it is for scripts. */
async function checkLive(
  file: string,
  values: OptionValues<typeof options>,
  io: Io,
  screen: Screen,
): Promise<{ readonly isMet: boolean; readonly json: JsonObject }> {
  const { openExplainableServers } = await import("../why/explain-configured.js");
  const { isMet, renderLive, walkAll } = await import("../check/live.js");
  const servers = await openExplainableServers({ ...values, config: file }, io);
  try {
    const explanations = await walkAll(servers);
    if (!values.json) screen.printAll(renderLive(explanations, screen));
    return { isMet: explanations.every(isMet), json: { live: jsonOf(explanations) } };
  } finally {
    servers.close();
  }
}

async function check(
  argument: string | undefined,
  values: OptionValues<typeof options>,
  env: Variables,
): Promise<{ readonly file: string; readonly report: CheckReport }> {
  const root = values["plugin-root"];
  const file = argument === undefined ? await findConfigurationFile(process.cwd(), root) : await fileOf(argument);
  const text = await readConfigurationFile(file);
  const envFiles = values["env-file"].map((each) => resolve(each));
  const { variables, findings } = await readVariables(envFiles, env);
  const report = await checkConfiguration(text, {
    pluginRoot: resolve(root ?? dirname(file)),
    variables: values["file-only"] ? undefined : variables,
    envFiles,
    allowInsecureLoopback: values["allow-insecure-loopback"],
  });
  return { file, report: { ...report, findings: [...report.findings, ...findings] } };
}
