import {
  neededVariables,
  parseEnvFile,
  readConfiguration,
  readConfigurationFile,
  type Variables,
  variableUses,
} from "@wirescope/tool-server/config";
import { commandLine } from "@wirescope/tool-server/internal/command-line";

/** A variable without a default that servers need, and that no --env-file sets. */
export interface MissingVariable {
  readonly name: string;
  readonly servers: readonly string[];
  /** Whether it is set in this shell: a client that is started elsewhere does not have it. */
  readonly isSetHere: boolean;
}

/** The variables that may be missing in a client. Files that cannot be read are skipped: `check` reports them. */
export async function findMissingVariables(
  configurations: readonly string[],
  envFiles: readonly string[],
  env: Variables,
): Promise<readonly MissingVariable[]> {
  const read = await Promise.all(configurations.map((file) => readConfiguration(file).catch(() => undefined)));
  const uses = read.flatMap((configuration) => configuration?.entries.flatMap(variableUses) ?? []);
  const given = await Promise.all(
    envFiles.map(async (file) => parseEnvFile(await readConfigurationFile(file).catch(() => ""), file).variables),
  );
  return neededVariables(uses)
    .filter(({ name, isRequired }) => isRequired && !given.some((variables) => variables[name]))
    .map(({ name, uses: own }) => ({
      name,
      servers: [...new Set(own.map(({ server }) => server))],
      isSetHere: Boolean(env[name]),
    }));
}

/** The lines to print about them; empty if none is missing. */
export function missingVariablesNotes(missing: readonly MissingVariable[]): string[] {
  if (missing.length === 0) return [];
  return [
    "These variables are required and not set by --env-file:",
    ...missing.map(({ name, servers, isSetHere }) => {
      const where = isSetHere ? "set in this shell only" : "not set";
      return `  ${name} (${servers.join(", ")}): ${where}`;
    }),
    `Keep a gateway running in a shell that sets them (${commandLine("up")}), or write them to a file and install again with --env-file <file>.`,
  ];
}
