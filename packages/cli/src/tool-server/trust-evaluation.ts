import type { TrustDecision } from "@wirescope/tool-server";
import type { Entry } from "@wirescope/tool-server/config";
import { readVariables } from "@wirescope/tool-server/internal";
import type { Io } from "../io.js";
import { trustFor } from "./ask-for-trust.js";
import { storedInputs } from "./input-values.js";
import { asUsageError, loadConfiguration, reportEnvFindings } from "./loaded-configuration.js";
import type { ServerValues } from "./server-options.js";

/** The entries of a configuration, to evaluate their trust without using them. */
export interface TrustEvaluation {
  readonly file: string;
  readonly entries: readonly Entry[];
  evaluate(entry: Entry): Promise<TrustDecision>;
}

export async function openTrustEvaluation(values: ServerValues, io: Io): Promise<TrustEvaluation> {
  const { file, pluginRoot, configuration, secrets } = await loadConfiguration(values);
  const { variables: given, findings } = await asUsageError(() => readVariables(values["env-file"], io.env));
  reportEnvFindings(findings, io);
  const inputs = await storedInputs({ configuration, file, variables: given, secrets, io }, values);
  const variables = { ...given, ...inputs };
  const trust = trustFor(io);
  return {
    file,
    entries: configuration.entries,
    evaluate: (entry) => trust.evaluate({ entry, configurationPath: file, pluginRoot, variables }),
  };
}
