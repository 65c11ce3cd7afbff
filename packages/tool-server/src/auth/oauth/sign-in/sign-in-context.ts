import type { VaultDescription } from "../../vault/vault.js";
import type { RedirectOptions } from "../authorization/callback-receiver.js";
import type { Discovery } from "../discovery/discover.js";
import type { ProofKey } from "../grants/proof-key.js";
import type { TokenOutcome } from "../grants/token-request.js";
import type { OAuthContext } from "../oauth-context.js";
import type { ClientStore } from "../registration/client-store.js";
import type { OAuthClient } from "../registration/oauth-client.js";
import type { ConfirmOrigin } from "./confirm-origin.js";
import type { SignIn, SignInRequest } from "./sign-in.js";

/** What one sign-in of a person works with, whichever way it goes. */
export interface SignInContext {
  readonly context: OAuthContext;
  readonly discovery: Discovery;
  readonly clients: ClientStore;
  readonly signIn: SignIn;
  readonly confirmOrigin: ConfirmOrigin;
  readonly scopes: readonly string[];
  readonly newScopes: readonly string[];
  readonly reason: SignInRequest["reason"];
  /** The key that the tokens are to be bound to, if any. */
  readonly key: ProofKey | undefined;
  readonly redirect: RedirectOptions;
  readonly vault: VaultDescription;
  /** Aborts when the time of the person is over, or the caller gave up. */
  readonly signal: AbortSignal;
}

/** What a sign-in ended with, and the client that it went by. */
export interface SignInOutcome {
  readonly client: OAuthClient;
  readonly outcome: TokenOutcome;
}
