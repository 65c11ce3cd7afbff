import type { ClientStore } from "../clients/client-store.js";
import type { OAuthClient } from "../clients/oauth-client.js";
import type { RequestRules } from "../discovery/known-issuers.js";
import type { AuthorizationServer } from "../discovery/metadata.js";
import type { HeldToken } from "../login-store.js";
import type { OAuthContext } from "../oauth-context.js";
import type { ProofKey } from "../tokens/proof-key.js";
import type { TokenOutcome } from "../tokens/token-request.js";
import type { Redirector, SignInWay } from "./ask.js";

/** One attempt to get tokens from an authorization server with the help of a user. */
export interface SignInAttempt {
  readonly context: OAuthContext;
  readonly server: AuthorizationServer;
  readonly clients: ClientStore;
  readonly rules: RequestRules;
  readonly scopes: readonly string[];
  /** The key to bind the tokens to, if any. */
  readonly key: ProofKey | undefined;
  /** At an identity provider: what its identity token has to repeat. */
  readonly nonce: string | undefined;
  readonly redirector: Redirector;
  /** The page on which the user started it. */
  readonly returnTo: string | undefined;
  /** Whether it stops before it registers a client or asks the user. */
  readonly isDryRun: boolean;
  readonly signal: AbortSignal;
  /** Checks that the user may be sent to a page. Rejects with AUTHORIZATION_ORIGIN_UNCONFIRMED. */
  confirmOrigin(page: URL): Promise<void>;
  /**
   * Shows the user what to do, and waits for `replied`, for another process that signs in, and at most until the time limit. Rejects with
   * SIGN_IN_FAILED if it is reached, and if the user declines.
   */
  waitForUser<T>(
    way: SignInWay,
    replied: (signal: AbortSignal, pasted: Promise<string>) => Promise<T>,
  ): Promise<UserReply<T>>;
}

/** The result of an attempt: of a token request, or a token of another process; undefined if it stopped before it asked the user. */
export type AttemptResult =
  | { readonly client: OAuthClient; readonly outcome: TokenOutcome }
  | { readonly held: HeldToken }
  | undefined;

/** What the user did. */
export type UserReply<T> = { readonly reply: T } | { readonly held: HeldToken };
