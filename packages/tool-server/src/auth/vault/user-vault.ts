import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Environment } from "../../process/child-environment.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import { chooseVault, defaultVaultDirectory, keyFromEnvironment } from "./choose-vault.js";
import { keyFromFile } from "./key-from-bytes.js";
import type { KeySource } from "./key-source.js";
import type { Vault, VaultKind } from "./vault.js";

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
