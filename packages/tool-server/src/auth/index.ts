export type {
  CredentialDescription,
  CredentialKind,
  HeaderDescription,
  HelperDescription,
  OAuthDescription,
  VariableDescription,
} from "../connection-info.js";
export type { RefusalCause, RefusalFinding } from "../refusal-finding.js";
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
export type { RedirectOptions } from "./oauth/authorization/callback-receiver.js";
export { createOAuthCredential, type OAuthCredentialOptions } from "./oauth/credential/oauth-credential.js";
export type { AuthorizationServer } from "./oauth/discovery/authorization-server.js";
export { type Discovery, type DiscoveryRequest, discover } from "./oauth/discovery/discover.js";
export type { IdentityProvider, MachineGrant } from "./oauth/grants/machine-grant.js";
export type { OAuthContext, OAuthLimits } from "./oauth/oauth-context.js";
export type { OAuthEvent, OAuthEventKind } from "./oauth/oauth-event.js";
export type { ClientAuthentication, ConfiguredClient } from "./oauth/registration/oauth-client.js";
export {
  createOAuthSession,
  type OAuthSession,
  type TokenChange,
  type TokenLookup,
} from "./oauth/session/oauth-session.js";
export type { ResourceChallenge } from "./oauth/session/resource-challenge.js";
export type { OAuthSessionOptions } from "./oauth/session/session-options.js";
export type { SignInOptions } from "./oauth/session/session-sign-in.js";
export type {
  ForeignOrigin,
  IssuerChange,
  SignIn,
  SignInReason,
  SignInReply,
  SignInRequest,
  SignInWay,
} from "./oauth/sign-in/sign-in.js";
export type { RevocationResult } from "./oauth/sign-out/revocation.js";
export type { SignOutProof, SignOutReport, WipedTokens } from "./oauth/sign-out/sign-out-report.js";
export type { TokenManager } from "./oauth/tokens/token-manager.js";
export type { HeldToken } from "./oauth/tokens/token-store.js";
export { type ChooseVaultOptions, chooseVault, defaultVaultDirectory } from "./vault/choose-vault.js";
export { type FileVaultOptions, openFileVault } from "./vault/file-vault.js";
export { type KeyBytesOptions, keyFromFile, keyFromVariable } from "./vault/key-from-bytes.js";
export { keyFromEnvironment, vaultVariables } from "./vault/key-from-environment.js";
export { type KeychainKeyOptions, keyFromKeychain } from "./vault/key-from-keychain.js";
export { keyFromPassphrase, type PassphraseOptions } from "./vault/key-from-passphrase.js";
export type { KeyRecipe, KeySource } from "./vault/key-source.js";
export { type Keychain, type SystemKeychainOptions, systemKeychain } from "./vault/keychain.js";
export { createMemoryVault, type MemoryVaultOptions } from "./vault/memory-vault.js";
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
} from "./vault/vault.js";
