export type { RedirectOptions } from "./authorization/callback-receiver.js";
export { createOAuthCredential, type OAuthCredentialOptions, oauthSummary } from "./credential/oauth-credential.js";
export type { AuthorizationServer } from "./discovery/authorization-server.js";
export { type Discovery, type DiscoveryRequest, discover } from "./discovery/discover.js";
export type { IdentityProvider, MachineGrant } from "./grants/machine-grant.js";
export { defaultOAuthLimits, type OAuthContext, type OAuthLimits } from "./oauth-context.js";
export type { OAuthEvent, OAuthEventKind } from "./oauth-event.js";
export type { ClientAuthentication, ConfiguredClient } from "./registration/oauth-client.js";
export { createOAuthSession, type OAuthSession, type TokenChange } from "./session/oauth-session.js";
export { parseResourceChallenge, type ResourceChallenge } from "./session/resource-challenge.js";
export type { OAuthSessionOptions } from "./session/session-options.js";
export type { SignInWish } from "./session/session-sign-in.js";
export type {
  ForeignOrigin,
  IssuerChange,
  SignIn,
  SignInReason,
  SignInReply,
  SignInRequest,
  SignInWay,
} from "./sign-in/sign-in.js";
export type { RevocationResult } from "./sign-out/revocation.js";
export type { SignOutProof, SignOutReport, WipedTokens } from "./sign-out/sign-out-report.js";
export {
  createTokenManager,
  type TokenManager,
  type TokenManagerOptions,
  type TokenManagerState,
} from "./tokens/token-manager.js";
export { createTokenStore, type HeldToken, type TokenStore } from "./tokens/token-store.js";
