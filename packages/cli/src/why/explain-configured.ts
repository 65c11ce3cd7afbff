import { relative, resolve } from "node:path";
import type { SecretRegistry, ToolServerError } from "@wirescope/tool-server";
import type { Configuration, Variables } from "@wirescope/tool-server/config";
import { readVariables, sandboxSettings } from "@wirescope/tool-server/internal";
import { type Explanation, explainServer } from "@wirescope/tool-server/why";
import type { Io } from "../io.js";
import { parseDuration } from "../option-values.js";
import type { OptionValues } from "../options.js";
import { type AdHocServer, reportStart } from "../tool-server/ad-hoc-server.js";
import { trustFor } from "../tool-server/ask-for-trust.js";
import { printDebug } from "../tool-server/debug-printer.js";
import { storedInputs } from "../tool-server/input-values.js";
import { asUsageError, loadConfiguration, reportEnvFindings } from "../tool-server/loaded-configuration.js";
import { readOAuthFile } from "../tool-server/oauth-file.js";
import { openVault } from "../tool-server/open-vault.js";
import { readPem } from "../tool-server/read-pem.js";
import { redactingIo } from "../tool-server/redaction.js";
import { sameSignIns, type serverOptions } from "../tool-server/server-options.js";
import { version } from "../version.js";

/** The servers of a configuration, to be diagnosed. */
export interface ExplainableServers {
  readonly file: string;
  readonly configuration: Configuration;
  readonly secrets: SecretRegistry;
  /** Output that redacts the known secrets. */
  readonly io: Io;
  /**
   * Diagnoses a server; `lastFailure` is a failure that the diagnosis cannot reproduce. It does not prompt for approval, but reports an
   * entry that is not trusted. Rejects with SERVER_UNKNOWN.
   */
  explain(server: string, lastFailure?: ToolServerError): Promise<Explanation>;
  close(): void;
}

/** The options of a diagnosis. */
export type ExplainValues = Pick<
  OptionValues<typeof serverOptions>,
  | "config"
  | "plugin-root"
  | "allow-insecure-loopback"
  | "env-file"
  | "trust"
  | "profile"
  | "vault"
  | "ca"
  | "timeout"
  | "debug"
> & { readonly adHoc?: AdHocServer | undefined };

/** The timeout of a whole diagnosis, as a multiple of the response timeout. */
const responsesPerDiagnosis = 6;

/** Reads the configuration that the options name. Nothing in it runs yet. */
export async function openExplainableServers(values: ExplainValues, io: Io): Promise<ExplainableServers> {
  const { file, pluginRoot, configuration, secrets } = await loadConfiguration(values);
  const envFiles = values["env-file"].map((each) => resolve(each));
  const { variables, findings } = await asUsageError(() => readVariables(envFiles, io.env));
  reportEnvFindings(findings, io);
  const ca = readPem(values.ca, "--ca");
  const responseMs = values.timeout === undefined ? undefined : parseDuration(values.timeout, "--timeout");
  const safeIo = redactingIo(io, secrets);
  if (values.adHoc !== undefined) reportStart(values.adHoc, safeIo);
  const stopDebugging = values.debug ? printDebug(safeIo) : () => {};
  const overrides = readOAuthFile(io, variables);
  const trust = trustFor(io, values.trust);
  const profile = values.profile ?? (io.env.WIRESCOPE_PROFILE || undefined);
  const inputsOf = async (server: string): Promise<Variables> => {
    const entry = configuration.entries.find(({ name }) => name === server);
    return storedInputs(
      { configuration, file, variables, secrets, io: safeIo },
      values,
      entry === undefined ? [] : [entry],
    );
  };
  return {
    file,
    configuration,
    secrets,
    io: safeIo,
    async explain(server, lastFailure) {
      const known = { ...variables, ...(await inputsOf(server)) };
      return explainServer({
        server,
        lastFailure,
        configuration,
        configurationPath: values.adHoc === undefined ? nameOf(file) : "command line",
        variables: known,
        pluginRoot,
        secrets,
        ca,
        sandbox: sandboxSettings(io.env, trust),
        responseMs,
        totalMs: responseMs === undefined ? undefined : responsesPerDiagnosis * responseMs,
        allowInsecureLoopback: values["allow-insecure-loopback"],
        commandArguments: configurationArguments(values),
        signInArguments: sameSignIns(values),
        settings: { info: { name: "wirescope", version: version() } },
        evaluateTrust(entry) {
          io.protect?.();
          return trust.evaluate({ entry, configurationPath: file, pluginRoot, variables: known });
        },
        oauth: {
          profile,
          overrides,
          openVault: () => openVault(values.vault, io, secrets),
        },
      });
    },
    close: stopDebugging,
  };
}

/** The arguments with which another command refers to the same server. */
function configurationArguments(values: ExplainValues): string[] {
  const { config, "plugin-root": root, adHoc } = values;
  return [
    ...(adHoc?.options ?? []),
    ...(config === undefined ? [] : ["--config", config]),
    ...(root === undefined ? [] : ["--plugin-root", root]),
    // The url may depend on these variables.
    ...values["env-file"].flatMap((file) => ["--env-file", file]),
    ...(values["allow-insecure-loopback"] && adHoc === undefined ? ["--allow-insecure-loopback"] : []),
  ];
}

/** A file as shown to users: relative to the working directory, if it is inside. */
function nameOf(file: string): string {
  const short = relative(process.cwd(), file);
  return short.startsWith("..") ? file : short;
}
