export type { Cause, Fix } from "../causes/cause-table.js";
export type { RefusalEvidence } from "../causes/refusal-evidence.js";
export type {
  CredentialDescription,
  CredentialKind,
  HeaderDescription,
  HelperDescription,
  OAuthDescription,
  VariableDescription,
} from "../connection-info.js";
export type { JsonObject, JsonValue } from "../json-object.js";
export type { Credential, CredentialRequest, Refusal, RefusalDecision } from "./credentials/credential.js";
export {
  type CredentialOwner,
  createEnvironmentCredential,
  createHeaderCredential,
  createNoCredential,
  type EnvironmentCredentialOptions,
  type HeaderCredentialOptions,
  type VariableSource,
} from "./credentials/fixed-credential.js";
export type { HeaderFields, HeaderSource } from "./credentials/header-fields.js";
export {
  createHelperCredential,
  type HelperCredentialOptions,
  type HelperRunReport,
} from "./credentials/helper-credential.js";
export type { ClientAuthentication, ConfiguredClient } from "./oauth/clients/oauth-client.js";
export { type Discovery, type DiscoveryRequest, discover } from "./oauth/discovery/discover.js";
export type { AuthorizationServer } from "./oauth/discovery/metadata.js";
export type { ResourceChallenge } from "./oauth/discovery/resource-challenge.js";
export {
  createIdentityLogin,
  type IdentityLogin,
  type IdentityLoginOptions,
  type IdentityStatus,
} from "./oauth/login/identity.js";
export type { OAuthLoginOptions } from "./oauth/login/login-options.js";
export { createOAuthCredential, type OAuthCredentialOptions } from "./oauth/login/oauth-credential.js";
export {
  createOAuthLogin,
  type OAuthLogin,
  type TokenChange,
  type TokenLookup,
} from "./oauth/login/oauth-login.js";
export type {
  RemainingTokens,
  RevocationResult,
  SignOutOptions,
  SignOutReport,
  WipedTokens,
} from "./oauth/login/sign-out.js";
export type { HeldToken } from "./oauth/login-store.js";
export type { LoginSettings, OAuthContext, OAuthLimits, RedirectOptions } from "./oauth/oauth-context.js";
export type { OAuthEnding, OAuthEvent, OAuthLog, OAuthNote, OAuthOperation, SetEnding } from "./oauth/oauth-log.js";
export type { OAuthStep, OAuthStepFields } from "./oauth/oauth-step.js";
export type {
  Ask,
  ForeignOrigin,
  IssuerChange,
  Redirect,
  Redirector,
  SignInEnding,
  SignInPrompt,
  SignInReason,
  SignInWay,
} from "./oauth/sign-in/ask.js";
export { loopback } from "./oauth/sign-in/loopback.js";
export type { SignInOptions } from "./oauth/sign-in/sign-in.js";
export { createTerminalSignIn, type TerminalSignInOptions } from "./oauth/sign-in/terminal-sign-in.js";
export type { Identity, IdentityProvider, MachineGrant } from "./oauth/tokens/machine-grant.js";
export type { TokenManager } from "./oauth/tokens/token-manager.js";
export {
  type ChooseVaultOptions,
  chooseVault,
  defaultVaultDirectory,
  keyFromEnvironment,
  vaultVariables,
} from "./vault/choose-vault.js";
export { type FileVaultOptions, openFileVault } from "./vault/file-vault.js";
export type { KeyRecipe, KeySource } from "./vault/key-source.js";
export {
  type KeyBytesOptions,
  keyFromFile,
  keyFromPassphrase,
  keyFromVariable,
  type PassphraseOptions,
} from "./vault/key-source.js";
export {
  type Keychain,
  type KeychainKeyOptions,
  keyFromKeychain,
  type SystemKeychainOptions,
  systemKeychain,
} from "./vault/keychain.js";
export { createMemoryVault, type MemoryVaultOptions } from "./vault/memory-vault.js";
export type {
  LockedEntry,
  LockedTask,
  LockOptions,
  Vault,
  VaultDescription,
  VaultEntry,
  VaultKey,
  VaultKind,
  VaultListing,
} from "./vault/vault.js";
