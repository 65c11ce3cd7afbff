import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { ToolServerError } from "../../errors.js";
import type { Environment } from "../../process/child-environment.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import { openFileVault } from "./file-vault.js";
import { keyFromDescriptor, keyFromFile, keyFromVariable } from "./key-from-bytes.js";
import { keyFromPassphrase } from "./key-from-passphrase.js";
import { type KeySource, keyWrong } from "./key-source.js";
import { type Keychain, keyFromKeychain } from "./keychain.js";
import { createMemoryVault } from "./memory-vault.js";
import type { Vault, VaultKind } from "./vault.js";
import { headerPath } from "./vault-header.js";

/** Which vault is opened, and with which key. */
export interface ChooseVaultOptions {
  /** Which vault it must be; one that cannot be had is then an error. Default "auto": the best that can be had. */
  readonly kind?: VaultKind | "auto";
  /** The folder of all vaults. Default `defaultVaultDirectory()`. */
  readonly directory?: string;
  /** The key of the encrypted file. Without one there is no such vault. */
  readonly key?: KeySource;
  /** Default the one of this system. */
  readonly keychain?: Keychain;
  /** Learns keys, so that they are kept out of text. */
  readonly secrets?: SecretRegistry;
}

/**
 * Opens the keychain's vault where there is a keychain; else the encrypted file where a key is given; else one in memory, with a
 * warning. Only the lack of a keychain leads on: a vault that is there and cannot be opened is an error, as is a key
 * that does not fit.
 */
export async function chooseVault(options: ChooseVaultOptions = {}): Promise<Vault> {
  const { kind = "auto", directory = defaultVaultDirectory(), key } = options;
  if (kind === "memory") return createMemoryVault();
  if (kind === "file") return openFile(directory, key);
  try {
    return await openFileVault({ directory: join(directory, "keychain"), key: keyFromKeychain(options) });
  } catch (error) {
    if (kind === "keychain" || !ToolServerError.is(error, "KEYCHAIN_UNAVAILABLE")) throw error;
    if (key === undefined) return createMemoryVault({ because: reasonsForMemory(directory, error) });
    const vault = await openFile(directory, key);
    const describe: Vault["describe"] = () => {
      const description = vault.describe();
      return { ...description, summary: `${description.summary} There is no keychain here.` };
    };
    return { ...vault, describe };
  }
}

/** The folder for tokens of this user: `wirescope/tokens` below XDG_DATA_HOME, or below `~/.local/share`. */
export function defaultVaultDirectory(environment: Environment = process.env): string {
  const data = environment.XDG_DATA_HOME ?? "";
  // A relative one is to be ignored, says the specification of base directories.
  const base = isAbsolute(data) ? data : join(environment.HOME || homedir(), ".local", "share");
  return join(base, "wirescope", "tokens");
}

async function openFile(directory: string, key: KeySource | undefined): Promise<Vault> {
  const folder = join(directory, "file");
  if (key !== undefined) return openFileVault({ directory: folder, key });
  throw keyWrong(
    `The encrypted file (${folder}) needs a key, and none was given.`,
    "Give one of WIRESCOPE_VAULT_KEY_FILE, WIRESCOPE_VAULT_KEY_FD, WIRESCOPE_VAULT_KEY and WIRESCOPE_VAULT_PASSPHRASE.",
  );
}

/** Says also what is there and out of reach, so that nobody takes it for lost. */
function reasonsForMemory(directory: string, error: ToolServerError): string {
  const has = (name: string): boolean => existsSync(headerPath(join(directory, name)));
  const reasons = [error.message];
  if (has("keychain")) reasons.push(`Tokens that were stored with the keychain are in ${join(directory, "keychain")}.`);
  if (has("file")) reasons.push(`Encrypted tokens are in ${join(directory, "file")}, but their key was not given.`);
  return reasons.join(" ");
}

/** The variables that hold or name the key of a vault. No child process gets them, as none gets any WIRESCOPE_ variable. */
export const vaultVariables = {
  key: "WIRESCOPE_VAULT_KEY",
  keyFile: "WIRESCOPE_VAULT_KEY_FILE",
  keyDescriptor: "WIRESCOPE_VAULT_KEY_FD",
  passphrase: "WIRESCOPE_VAULT_PASSPHRASE",
} as const;

/**
 * The key that the user's environment gives; undefined where it gives none. Throws VAULT_KEY_WRONG where it gives several. A variable
 * that is set but empty gives one, which fails when it is used: it was meant.
 */
export function keyFromEnvironment(
  environment: Environment = process.env,
  options: { readonly secrets?: SecretRegistry } = {},
): KeySource | undefined {
  const given = Object.values(vaultVariables).filter((name) => environment[name] !== undefined);
  if (given.length > 1) {
    throw keyWrong(`The key of the vault is given more than once: ${given.join(", ")}.`, "Unset all but one.");
  }
  switch (given[0]) {
    case vaultVariables.key:
      return keyFromVariable(vaultVariables.key, environment, options);
    case vaultVariables.keyFile:
      return keyFromFile(environment[vaultVariables.keyFile] ?? "", options);
    case vaultVariables.keyDescriptor:
      return keyFromDescriptor(environment[vaultVariables.keyDescriptor] ?? "", options);
    case vaultVariables.passphrase:
      return keyFromPassphrase(environment[vaultVariables.passphrase] ?? "", options);
    default:
      return undefined;
  }
}
