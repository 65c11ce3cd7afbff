import { realpath } from "node:fs/promises";
import { printableText } from "@wirescope/channelz/internal";
import type { SecretRegistry } from "@wirescope/tool-server";
import type { Vault, VaultKey } from "@wirescope/tool-server/auth";
import {
  type Configuration,
  type Entry,
  type InputDefinition,
  type Variables,
  variableUses,
} from "@wirescope/tool-server/config";
import { inputPrefix, inputVariable } from "@wirescope/tool-server/internal";
import type { Io } from "../io.js";
import { openVault } from "./open-vault.js";

/** The source of input values. */
export interface InputValuesOptions {
  readonly configuration: Pick<Configuration, "entries" | "inputs">;
  /** The file that the configuration is in: each has its own values. */
  readonly file: string;
  /** The user's variables; one such as INPUT_API_KEY takes precedence over a stored value. */
  readonly variables: Variables;
  readonly profile: string;
  readonly vault: Vault;
  readonly secrets: SecretRegistry;
  readonly io: Io;
}

/** The values of `${input:id}` that people entered. */
export interface InputValues {
  /** The stored values of an entry's inputs, as variables. */
  stored(entry: Entry): Promise<Variables>;
  /** Asks the person at the terminal for the values of an entry that are missing, and stores them. */
  askFor(entry: Entry): Promise<void>;
  /** Asks for a value even if there is one. Resolves with whether a value was entered. */
  ask(id: string): Promise<boolean>;
  /** Deletes a value. Resolves with whether there was one. */
  forget(id: string): Promise<boolean>;
  /** The source of an input's value: `variable`, `vault` or none. */
  sourceOf(id: string): Promise<"variable" | "vault" | undefined>;
}

/** How often a person may enter a value that is not one of the choices. */
const maxAttempts = 3;

/** Whether an entry has values that a person enters. */
export function usesInputs(entry: Entry): boolean {
  return idsOf(entry).length > 0;
}

/** The ids of the inputs that an entry uses. */
export function idsOf(entry: Entry): string[] {
  const names = variableUses(entry).map(({ variable }) => variable);
  return [...new Set(names.filter((name) => name.startsWith(inputPrefix)))].map((name) =>
    name.slice(inputPrefix.length),
  );
}

/** Opens the values of the inputs of a configuration. */
export function openInputValues(options: InputValuesOptions): InputValues {
  const { configuration, file, variables, profile, vault, secrets, io } = options;
  const keyOf = async (id: string): Promise<VaultKey> => {
    const resource = await realpath(file).catch(() => file);
    return { profile, server: "", resource, issuer: "", tenant: id, item: "input" };
  };
  // An input that the file does not define could be a secret.
  const definitionOf = (id: string): InputDefinition =>
    configuration.inputs.find((input) => input.id === id) ?? {
      id,
      description: undefined,
      isSecret: true,
      suggestion: undefined,
      choices: [],
      written: undefined,
    };
  const variableOf = (id: string): string | undefined => variables[inputVariable(`${inputPrefix}${id}`)];
  const read = async (id: string): Promise<string | undefined> => {
    const value = (await vault.get(await keyOf(id)))?.value.value;
    if (typeof value !== "string") return undefined;
    if (definitionOf(id).isSecret) secrets.add(value);
    return value;
  };
  const sourceOf = async (id: string): Promise<"variable" | "vault" | undefined> => {
    if (variableOf(id) !== undefined) return "variable";
    return (await read(id)) === undefined ? undefined : "vault";
  };
  const ask = async (id: string): Promise<boolean> => {
    const definition = definitionOf(id);
    const value = await enter(definition, configuration.entries, io);
    if (value === undefined) return false;
    if (definition.isSecret) secrets.add(value);
    await vault.put(await keyOf(id), { value });
    const { warning } = vault.describe();
    if (warning !== undefined) io.stderr.write(`${printableText(warning)}\n`);
    return true;
  };
  return {
    ask,
    sourceOf,
    async stored(entry) {
      const ids = idsOf(entry).filter((id) => variableOf(id) === undefined);
      const values = await Promise.all(ids.map(async (id) => [`${inputPrefix}${id}`, await read(id)] as const));
      return Object.fromEntries(values.filter(([, value]) => value !== undefined));
    },
    async askFor(entry) {
      for (const id of idsOf(entry)) if ((await sourceOf(id)) === undefined) await ask(id);
    },
    async forget(id) {
      const key = await keyOf(id);
      const entry = await vault.get(key);
      return entry !== undefined && vault.deleteIf(key, entry.revision);
    },
  };
}

/** The stored values of all inputs that the entries use. The vault is opened only if they use one. */
export async function storedInputs(
  options: Omit<InputValuesOptions, "profile" | "vault">,
  { vault: kind, profile }: { readonly vault?: string | undefined; readonly profile?: string | undefined },
  entries: readonly Entry[] = options.configuration.entries,
): Promise<Variables> {
  const used = entries.filter(usesInputs);
  if (used.length === 0) return {};
  const { io, secrets } = options;
  const vault = await openVault(kind, io, secrets);
  try {
    const values = openInputValues({
      ...options,
      profile: profile ?? (io.env.WIRESCOPE_PROFILE || "default"),
      vault,
    });
    return Object.assign({}, ...(await Promise.all(used.map((entry) => values.stored(entry)))));
  } finally {
    await vault.dispose();
  }
}

/** Asks for a value; undefined if the person enters none, or none of the choices. */
async function enter(
  { id, description, isSecret, suggestion, choices }: InputDefinition,
  entries: readonly Entry[],
  io: Io,
): Promise<string | undefined> {
  if (io.ask === undefined) return undefined;
  const servers = entries.filter((entry) => idsOf(entry).includes(id)).map(({ name }) => JSON.stringify(name));
  // The description comes from the file, so it is quoted.
  const about = description === undefined ? "" : ` The file says: ${JSON.stringify(description.slice(0, 300))}`;
  io.stderr.write(`${printableText(`The input ${id} is used by ${servers.join(", ") || "no server"}.${about}`)}\n`);
  if (choices.length > 0) {
    io.stderr.write(`${printableText(`Choices: ${choices.map((choice) => JSON.stringify(choice)).join(", ")}`)}\n`);
  }
  const offered = suggestion === undefined || isSecret ? "" : ` [${suggestion}]`;
  const question = printableText(`${id}${isSecret ? " (is not shown)" : offered}: `);
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const value = (await io.ask(question, undefined, isSecret)).trim() || (isSecret ? "" : (suggestion ?? ""));
    if (value === "") return undefined;
    if (choices.length === 0 || choices.includes(value)) return value;
    io.stderr.write("This is not one of the choices.\n");
  }
  return undefined;
}
