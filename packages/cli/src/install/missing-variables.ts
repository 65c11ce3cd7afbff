import {
  neededVariables,
  parseEnvFile,
  readConfiguration,
  readConfigurationFile,
  type Variables,
  variableUses,
} from "@wirescope/tool-server/config";
import { commandLine } from "@wirescope/tool-server/internal/command-line";

/** A variable without a default that the servers need, and that no environment file of the entry sets. */
export interface MissingVariable {
  readonly name: string;
  readonly servers: readonly string[];
  /** Whether this shell has it: a client that is not started from this shell does not. */
  readonly isSetHere: boolean;
}

/** The variables that a client may not have. What cannot be read has none: `check` says what is wrong with it. */
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

/** What to print about them, one string per line; empty if none is missing. */
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
