export { type ChooseVaultOptions, chooseVault, defaultVaultDirectory } from "./choose-vault.js";
export { type FileVaultOptions, openFileVault } from "./file-vault.js";
export { type KeyBytesOptions, keyFromFile, keyFromVariable } from "./key-from-bytes.js";
export { keyFromEnvironment, vaultVariables } from "./key-from-environment.js";
export { type KeychainKeyOptions, keyFromKeychain } from "./key-from-keychain.js";
export { keyFromPassphrase, type PassphraseOptions } from "./key-from-passphrase.js";
export type { KeyRecipe, KeySource } from "./key-source.js";
export { type Keychain, type SystemKeychainOptions, systemKeychain } from "./keychain.js";
export { createMemoryVault, type MemoryVaultOptions } from "./memory-vault.js";
export type {
  JsonObject,
  JsonValue,
  LockOptions,
  Vault,
  VaultDescription,
  VaultEntry,
  VaultKey,
  VaultKind,
  VaultListing,
} from "./vault.js";
