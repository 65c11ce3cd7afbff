export type {
  CredentialDescription,
  CredentialKind,
  HeaderDescription,
  HelperDescription,
  OAuthDescription,
  VariableDescription,
} from "../../diagnostics/credential-description.js";
export type { RefusalCause, RefusalFinding } from "../../refusal-finding.js";
export type { Credential, CredentialRequest, Refusal, RefusalDecision } from "./credential.js";
export { diagnoseRefusal, type RefusalFacts } from "./diagnose-refusal.js";
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
