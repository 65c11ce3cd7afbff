import { ToolServerError } from "../errors.js";
import type { SecretRegistry } from "../secrets/redactor.js";
import { isSecretName } from "../secrets/secret-names.js";
import { findSecretShapes } from "../secrets/secret-shapes.js";
import { isReserved } from "./check-variables.js";
import { readConfigurationFile } from "./configuration-file.js";
import { parseEnvFile } from "./parse-env-file.js";
import type { ResolvedEntry } from "./substitute-entry.js";

/** A shorter value, such as "test", is an ordinary word too often. */
const minSecretLength = 8;

/**
 * Adds the variables of `envFile` to an entry; those of `env` take precedence. Values that are named or look like secrets are
 * registered. Rejects with VARIABLE_UNUSABLE if the file cannot be read or parsed.
 */
export async function withEnvFile<Resolved extends ResolvedEntry>(
  resolved: Resolved,
  secrets: SecretRegistry,
): Promise<Resolved> {
  if (resolved.type !== "stdio" || resolved.envFile === undefined) return resolved;
  const subject = `Cannot use server ${JSON.stringify(resolved.name)}.`;
  const { variables, findings } = await readConfigurationFile(resolved.envFile).then(
    (text) => parseEnvFile(text, resolved.envFile ?? ""),
    (error: unknown) => {
      const problem = error instanceof Error ? error.message : String(error);
      throw new ToolServerError("VARIABLE_UNUSABLE", { subject, problem, advice: "Correct envFile in its entry." });
    },
  );
  const [wrong] = findings;
  if (wrong !== undefined) {
    const problem = `${resolved.envFile}:${wrong.line}: ${wrong.message}`;
    throw new ToolServerError("VARIABLE_UNUSABLE", { subject, problem, advice: wrong.fix });
  }
  const given = Object.entries(variables).filter(([name]) => !isReserved(name));
  for (const [name, value] of given) {
    if (value.length < minSecretLength) continue;
    if (isSecretName(name) || findSecretShapes(value).length > 0) secrets.add(value);
  }
  return { ...resolved, env: { ...Object.fromEntries(given), ...resolved.env } };
}
