export type {
  Credential,
  CredentialDescription,
  CredentialKind,
  CredentialRequest,
  HeaderDescription,
  OAuthDescription,
  Refusal,
  RefusalDecision,
  VariableDescription,
} from "./credential.js";
export { diagnoseRefusal, type RefusalCause, type RefusalFacts, type RefusalFinding } from "./diagnose-refusal.js";
export {
  type CredentialOwner,
  createEnvironmentCredential,
  createHeaderCredential,
  createNoCredential,
  type EnvironmentCredentialOptions,
  type HeaderCredentialOptions,
  type VariableSource,
} from "./fixed-credential.js";
export type { HeaderFields, HeaderSource } from "./header-fields.js";
export { createHelperCredential, type HelperCredentialOptions, type HelperRunReport } from "./helper-credential.js";
export type { HelperDescription } from "./helper-description.js";
