import { printableText } from "@wirescope/channelz/internal";
import type { Configuration, Entry, InputDefinition, Variables } from "@wirescope/tool-server/config";
import {
  inputsOf,
  openStoredInputs,
  type StoredInputs,
  type StoredInputsOptions,
  usesInputs,
} from "@wirescope/tool-server/internal";
import type { Io } from "../io.js";
import { openStoredVault } from "./open-vault.js";

export interface InputValuesOptions extends StoredInputsOptions {
  readonly configuration: Pick<Configuration, "entries" | "inputs">;
  readonly io: Io;
}

/** The values of `${input:id}`: stored ones, or entered now. */
export interface InputValues extends StoredInputs {
  /** Asks the person at the terminal for the missing values of an entry, and stores them. */
  askFor(entry: Entry): Promise<void>;
  /** Asks for a value even if there is one. Resolves with whether a value was entered. */
  ask(id: string): Promise<boolean>;
}

/** How often to ask if the value is not one of the choices. */
const maxAttempts = 3;

export function openInputValues(options: InputValuesOptions): InputValues {
  const { configuration, vault, io } = options;
  const stored = openStoredInputs(options);
  const ask = async (id: string): Promise<boolean> => {
    const value = await enter(stored.definitionOf(id), configuration.entries, io);
    if (value === undefined) return false;
    await stored.put(id, value);
    const { warning } = vault.describe();
    if (warning !== undefined) io.stderr.write(`${printableText(warning)}\n`);
    return true;
  };
  return {
    ...stored,
    ask,
    async askFor(entry) {
      for (const id of inputsOf(entry)) if ((await stored.sourceOf(id)) === undefined) await ask(id);
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
  const vault = await openStoredVault(kind, io, secrets);
  try {
    const stored = openStoredInputs({ ...options, profile: profile ?? (io.env.WIRESCOPE_PROFILE || undefined), vault });
    return await stored.variablesOf(used);
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
  const servers = entries.filter((entry) => inputsOf(entry).includes(id)).map(({ name }) => JSON.stringify(name));
  // The description comes from the file, so it is quoted.
  const about = description === undefined ? "" : ` The file says: ${JSON.stringify(description.slice(0, 300))}`;
  io.stderr.write(`${printableText(`The input ${id} is used by ${servers.join(", ") || "no server"}.${about}`)}\n`);
  if (choices.length > 0) {
    io.stderr.write(`${printableText(`Choices: ${choices.map((choice) => JSON.stringify(choice)).join(", ")}`)}\n`);
  }
  const offered = suggestion === undefined || isSecret ? "" : ` [${suggestion}]`;
  const question = printableText(`${id}${isSecret ? " (hidden)" : offered}: `);
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const value = (await io.ask(question, undefined, isSecret)).trim() || (isSecret ? "" : (suggestion ?? ""));
    if (value === "") return undefined;
    if (choices.length === 0 || choices.includes(value)) return value;
    io.stderr.write("Not one of the choices.\n");
  }
  return undefined;
}
