import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { ToolServerError } from "../../errors.js";
import type { Environment } from "../../process/child-environment.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import { openFileVault } from "./file-vault.js";
import {
  type KeySource,
  keyFromDescriptor,
  keyFromFile,
  keyFromPassphrase,
  keyFromVariable,
  keyWrong,
} from "./key-source.js";
import { type Keychain, keyFromKeychain } from "./keychain.js";
import { createMemoryVault } from "./memory-vault.js";
import type { Vault, VaultKind } from "./vault.js";
import { headerPath, keyMissing } from "./vault-header.js";

/** Options for opening a vault. */
export interface ChooseVaultOptions {
  /** The kind of vault; rejects if it is unavailable. Default "auto": the best that is available. */
  readonly kind?: VaultKind | "auto";
  /** The folder of all vaults. Default `defaultVaultDirectory()`. */
  readonly directory?: string;
  /** The key of the encrypted file. That vault is unavailable without one. */
  readonly key?: KeySource;
  /** Default: the keychain of this system. */
  readonly keychain?: Keychain;
  /** Keys are added to it, so that they are redacted. */
  readonly secrets?: SecretRegistry;
}

/**
 * Opens the keychain vault if there is a keychain; otherwise the encrypted file if a key is given; otherwise a vault in memory, with a
 * warning. Only a missing keychain falls through: an existing vault that cannot be opened is an error, and so is a wrong
 * key.
 */
export async function chooseVault(options: ChooseVaultOptions = {}): Promise<Vault> {
  const { kind = "auto", directory = defaultVaultDirectory(), key } = options;
  if (kind === "memory") return createMemoryVault();
  if (kind === "file") return openFile(directory, key);
  try {
    return await openFileVault({ directory: join(directory, "keychain"), key: keyFromKeychain(options) });
  } catch (error) {
    if (kind === "keychain" || !ToolServerError.is(error, "KEYCHAIN_UNAVAILABLE")) throw error;
    if (key === undefined) return createMemoryVault({ because: await reasonsForMemory(directory, error) });
    const vault = await openFile(directory, key);
    const describe: Vault["describe"] = () => {
      const description = vault.describe();
      return { ...description, summary: `${description.summary} No keychain is available.` };
    };
    return { ...vault, describe };
  }
}

/** The folder for the tokens of this user: `wirescope/tokens` in XDG_DATA_HOME, or in `~/.local/share`. */
export function defaultVaultDirectory(environment: Environment = process.env): string {
  const data = environment.XDG_DATA_HOME ?? "";
  // The XDG specification says to ignore a relative path.
  const base = isAbsolute(data) ? data : join(environment.HOME || homedir(), ".local", "share");
  return join(base, "wirescope", "tokens");
}

async function openFile(directory: string, key: KeySource | undefined): Promise<Vault> {
  const folder = join(directory, "file");
  if (key !== undefined) return openFileVault({ directory: folder, key });
  const missing = await keyMissing(folder);
  if (missing !== undefined) throw missing;
  const advice =
    "Set one of WIRESCOPE_VAULT_KEY_FILE, WIRESCOPE_VAULT_KEY_FD, WIRESCOPE_VAULT_KEY and WIRESCOPE_VAULT_PASSPHRASE.";
  throw keyWrong(`The encrypted token file (${folder}) needs a key, and none is set.`, advice);
}

/** Also names vaults that exist and cannot be opened, so that their tokens are not considered lost. */
async function reasonsForMemory(directory: string, error: ToolServerError): Promise<string> {
  const keychain = join(directory, "keychain");
  const reasons = [error.message];
  if (existsSync(headerPath(keychain))) reasons.push(`Tokens that were stored with the keychain are in ${keychain}.`);
  const missing = await keyMissing(join(directory, "file"));
  if (missing !== undefined) reasons.push(missing.message);
  return reasons.join(" ");
}

/** The environment variables for the key of a vault. Child processes do not get them, nor any other WIRESCOPE_ variable. */
export const vaultVariables = {
  key: "WIRESCOPE_VAULT_KEY",
  keyFile: "WIRESCOPE_VAULT_KEY_FILE",
  keyDescriptor: "WIRESCOPE_VAULT_KEY_FD",
  passphrase: "WIRESCOPE_VAULT_PASSPHRASE",
} as const;

/**
 * The key from the environment; undefined if none is set. Throws VAULT_KEY_WRONG if several are set. A variable that is set but
 * empty counts as set, and fails when it is used.
 */
export function keyFromEnvironment(
  environment: Environment = process.env,
  options: { readonly secrets?: SecretRegistry } = {},
): KeySource | undefined {
  const given = Object.values(vaultVariables).filter((name) => environment[name] !== undefined);
  if (given.length > 1) {
    throw keyWrong(`The key of the vault is set more than once: ${given.join(", ")}.`, "Unset all but one.");
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

/** The file of the key that the command line generates: `wirescope/vault.key` in the user's configuration folder. */
export function vaultKeyPath(environment: Environment = process.env): string {
  const { XDG_CONFIG_HOME: configured = "", HOME: home } = environment;
  const base = isAbsolute(configured) ? configured : join(home || homedir(), ".config");
  return join(base, "wirescope", "vault.key");
}

/** The key of the encrypted file: from the environment, else the one that the command line generated; undefined if there is none. */
export function userVaultKey(environment: Environment, secrets: SecretRegistry): KeySource | undefined {
  const given = keyFromEnvironment(environment, { secrets });
  if (given !== undefined) return given;
  const path = vaultKeyPath(environment);
  return existsSync(path) ? keyFromFile(path, { secrets }) : undefined;
}

/** The error for an encrypted file of the user whose key is not given; undefined if there is none. */
export function userVaultKeyMissing(environment: Environment): Promise<ToolServerError | undefined> {
  return keyMissing(join(defaultVaultDirectory(environment), "file"));
}

/** The names of the vaults that a user can choose. */
export const vaultKinds: readonly (VaultKind | "auto")[] = ["auto", "keychain", "file", "memory"];

/** Opens the vault of the user, where `wirescope login` stores tokens. It generates no key. */
export function openUserVault(
  kind: VaultKind | "auto",
  environment: Environment,
  secrets: SecretRegistry,
): Promise<Vault> {
  const key = userVaultKey(environment, secrets);
  const directory = defaultVaultDirectory(environment);
  return chooseVault({ kind, directory, secrets, ...(key === undefined ? {} : { key }) });
}
