import { realpath } from "node:fs/promises";
import { type Vault, type VaultKey, writeEntry } from "./auth/vault/vault.js";
import type { Entry } from "./config/entry.js";
import type { InputDefinition } from "./config/inputs.js";
import type { Configuration } from "./config/parse-configuration.js";
import type { Variables } from "./config/substitute-entry.js";
import { inputPrefix, inputVariable } from "./config/template.js";
import { variableUses } from "./config/variable-uses.js";
import type { SecretRegistry } from "./secrets/redactor.js";

/** The sources of a configuration's input values. */
export interface StoredInputsOptions {
  readonly configuration: Pick<Configuration, "inputs">;
  /** The configuration file: each file has its own values. */
  readonly file: string;
  /** The user's variables; one such as INPUT_API_KEY takes precedence over a stored value. */
  readonly variables: Variables;
  /** Default "default". */
  readonly profile?: string | undefined;
  readonly vault: Vault;
  readonly secrets: SecretRegistry;
}

/** The values of `${input:id}` that users entered, in the vault. */
export interface StoredInputs {
  /** The definition of an input. An undefined input is treated as a secret. */
  definitionOf(id: string): InputDefinition;
  put(id: string, value: string): Promise<void>;
  /** Deletes a value. Resolves with whether it existed. */
  forget(id: string): Promise<boolean>;
  /** The source of an input's value: `variable`, `vault` or none. */
  sourceOf(id: string): Promise<"variable" | "vault" | undefined>;
  /** The stored values of the inputs that entries use, as variables. */
  variablesOf(entries: readonly Entry[]): Promise<Variables>;
}

/** Whether an entry has values that a user enters. */
export function usesInputs(entry: Entry): boolean {
  return inputsOf(entry).length > 0;
}

/** The ids of the inputs that an entry uses. */
export function inputsOf(entry: Entry): string[] {
  const names = variableUses(entry).map(({ variable }) => variable);
  return [...new Set(names.filter((name) => name.startsWith(inputPrefix)))].map((name) =>
    name.slice(inputPrefix.length),
  );
}

export function openStoredInputs(options: StoredInputsOptions): StoredInputs {
  const { configuration, file, variables, profile = "default", vault, secrets } = options;
  const keyOf = async (id: string): Promise<VaultKey> => {
    const resource = await realpath(file).catch(() => file);
    return { owner: "", profile, server: "", resource, issuer: "", tenant: id, item: "input" };
  };
  const definitionOf = (id: string): InputDefinition =>
    configuration.inputs.find((input) => input.id === id) ?? {
      id,
      description: undefined,
      isSecret: true,
      suggestion: undefined,
      choices: [],
      written: undefined,
    };
  const isVariable = (id: string): boolean => variables[inputVariable(`${inputPrefix}${id}`)] !== undefined;
  const addSecret = (id: string, value: string): void => {
    if (definitionOf(id).isSecret) secrets.add(value);
  };
  const read = async (id: string): Promise<string | undefined> => {
    const value = (await vault.get(await keyOf(id)))?.value.value;
    if (typeof value !== "string") return undefined;
    addSecret(id, value);
    return value;
  };
  return {
    definitionOf,
    async put(id, value) {
      addSecret(id, value);
      await writeEntry(vault, await keyOf(id), { value });
    },
    async forget(id) {
      return vault.withLock(await keyOf(id), (entry) => entry.remove());
    },
    async sourceOf(id) {
      if (isVariable(id)) return "variable";
      return (await read(id)) === undefined ? undefined : "vault";
    },
    async variablesOf(entries) {
      const ids = [...new Set(entries.flatMap(inputsOf))].filter((id) => !isVariable(id));
      const values = await Promise.all(ids.map(async (id) => [`${inputPrefix}${id}`, await read(id)] as const));
      return Object.fromEntries(values.filter(([, value]) => value !== undefined));
    },
  };
}
