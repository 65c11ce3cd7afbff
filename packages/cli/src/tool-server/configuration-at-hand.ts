import { dirname, resolve } from "node:path";
import { createSecretRegistry, type SecretRegistry } from "@wirescope/tool-server";
import {
  type Configuration,
  findConfigurationFile,
  parseConfiguration,
  readConfigurationFile,
} from "@wirescope/tool-server/config";
import type { OptionValues } from "../options.js";
import { assertReadable } from "./assert-readable.js";
import { fileOf, readable } from "./configuration-input.js";
import type { configurationOptions } from "./server-options.js";

/** A configuration that was read, and where. */
export interface ConfigurationAtHand {
  readonly file: string;
  readonly pluginRoot: string;
  readonly configuration: Configuration;
  readonly secrets: SecretRegistry;
}

/** Reads the configuration that the options name, or the usual one. Throws a UsageError where there is none, or it cannot be read. */
export async function readConfigurationAtHand(
  values: OptionValues<typeof configurationOptions>,
): Promise<ConfigurationAtHand> {
  const root = values["plugin-root"];
  const named = values.config;
  const next = "Options: --config <file>; --endpoint for the running gateway.";
  const file = await (named === undefined
    ? readable(() => findConfigurationFile(process.cwd(), root), next)
    : fileOf(named));
  const secrets = createSecretRegistry();
  const text = await readable(() => readConfigurationFile(file));
  const configuration = parseConfiguration(text, { allowInsecureLoopback: values["allow-insecure-loopback"], secrets });
  assertReadable(configuration, file);
  return { file, pluginRoot: resolve(root ?? dirname(file)), configuration, secrets };
}
