import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { ToolServerError } from "@wirescope/tool-server";
import {
  configurationFileName,
  type Finding,
  parseEnvFile,
  readConfigurationFile,
  type Variables,
} from "@wirescope/tool-server/config";
import { UsageError } from "../usage-error.js";

/** The file that an argument names: itself, or the usual one of a directory. */
export async function fileOf(argument: string): Promise<string> {
  const path = resolve(argument);
  const isDirectory = await stat(path).then(
    (facts) => facts.isDirectory(),
    () => false,
  );
  return isDirectory ? join(path, configurationFileName) : path;
}

/** The variables of the environment, over those of the files; and what is wrong with the files. */
export async function readVariables(
  files: readonly string[],
  env: Variables,
): Promise<{ readonly variables: Variables; readonly findings: readonly Finding[] }> {
  const read = await Promise.all(files.map(async (file) => parseEnvFile(await readConfigurationFile(file), file)));
  return {
    variables: Object.assign({}, ...read.map(({ variables }) => variables), env),
    findings: read.flatMap(({ findings }) => findings),
  };
}

/** A file that cannot be read is a wrong argument. `next` says what to do in place of reading the help. */
export async function readable<T>(task: () => Promise<T>, next?: string): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (!ToolServerError.is(error, "CONFIGURATION_UNREADABLE")) throw error;
    throw new UsageError(error.message, { cause: error, ...(next === undefined ? {} : { next }) });
  }
}
