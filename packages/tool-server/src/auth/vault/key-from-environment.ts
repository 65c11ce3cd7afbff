import type { Environment } from "../../process/child-environment.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import { keyFromDescriptor, keyFromFile, keyFromVariable } from "./key-from-bytes.js";
import { keyFromPassphrase } from "./key-from-passphrase.js";
import { type KeySource, keyWrong } from "./key-source.js";

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
