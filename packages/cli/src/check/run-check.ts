import { dirname, relative, resolve } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import {
  type CheckReport,
  checkConfiguration,
  findConfigurationFile,
  readConfigurationFile,
  type Variables,
} from "@wirescope/tool-server";
import { exitCode } from "../failure.js";
import type { Io } from "../io.js";
import type { OptionValues } from "../options.js";
import { formatJson } from "../output/json.js";
import { createScreen, type Screen } from "../output/screen.js";
import { fileOf, readable, readVariables } from "../tool-server/configuration-input.js";
import { jsonOf } from "../tool-server/json-of.js";
import { UsageError } from "../usage-error.js";
import type { checkOptions } from "./check-options.js";
import { renderReport } from "./render-report.js";
import { reportToJson } from "./report-json.js";
import { exitCodeOf } from "./severity.js";

/** Checks the named configuration, or the usual one, and prints what is wrong. Gives the exit code. */
export async function runCheck(
  argument: string | undefined,
  values: OptionValues<typeof checkOptions>,
  io: Io,
): Promise<number> {
  const screen = createScreen(io, values["no-color"]);
  const { file, report } = await readable(() => check(argument, values, io.env));
  const here = process.cwd();
  const nameOf = (path: string): string => {
    const short = relative(here, path);
    return short.startsWith("..") ? path : short;
  };
  if (values.live && values["file-only"]) throw new UsageError("--live needs the variables, and --file-only has none.");
  if (!values.json) screen.printAll(renderReport(report, file, nameOf, screen));
  const live = values.live ? await checkLive(file, values, io, screen) : undefined;
  if (values.json)
    screen.print(formatJson({ ...reportToJson(report, file), ...(live === undefined ? {} : live.json) }));
  return live?.isMet === false ? exitCode.failure : exitCodeOf(report.findings, values.strict);
}

/** Walks the servers of the file, and prints what they meet, unless it is for scripts. */
async function checkLive(
  file: string,
  values: OptionValues<typeof checkOptions>,
  io: Io,
  screen: Screen,
): Promise<{ readonly isMet: boolean; readonly json: JsonObject }> {
  const { openExplainableServers } = await import("../why/explain-configured.js");
  const { isMet, renderLive, walkAll } = await import("./live.js");
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
  values: OptionValues<typeof checkOptions>,
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
