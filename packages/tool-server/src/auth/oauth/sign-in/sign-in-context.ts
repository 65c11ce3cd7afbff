import { commandLine } from "../../../command-line.js";
import type { VaultDescription } from "../../vault/vault.js";
import type { ClientStore } from "../clients/client-store.js";
import type { OAuthClient } from "../clients/oauth-client.js";
import type { Discovery } from "../discovery/discover.js";
import { knownIssuer } from "../discovery/known-issuers.js";
import type { RequestRules } from "../discovery/request-rules.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure, peerText } from "../oauth-errors.js";
import type { ProofKey } from "../tokens/proof-key.js";
import type { TokenOutcome } from "../tokens/token-request.js";
import type { RedirectOptions } from "./callback-receiver.js";
import type { SignIn, SignInRequest } from "./sign-in.js";

/** What one sign-in uses, with a browser or by device. */
export interface SignInContext {
  readonly context: OAuthContext;
  readonly discovery: Discovery;
  readonly rules: RequestRules;
  readonly clients: ClientStore;
  readonly signIn: SignIn;
  readonly confirmOrigin: ConfirmOrigin;
  readonly scopes: readonly string[];
  readonly newScopes: readonly string[];
  readonly reason: SignInRequest["reason"];
  /** The key to bind the tokens to, if any. */
  readonly key: ProofKey | undefined;
  readonly redirect: RedirectOptions;
  readonly vault: VaultDescription;
  /** Aborts when the time limit of the sign-in is reached, or the caller gave up. */
  readonly signal: AbortSignal;
}

/** The result of a sign-in, and its client. */
export interface SignInOutcome {
  readonly client: OAuthClient;
  readonly outcome: TokenOutcome;
}

/** Checks that a person may be sent to a page. Rejects with AUTHORIZATION_ORIGIN_UNCONFIRMED. */
export type ConfirmOrigin = (page: URL, signal: AbortSignal) => Promise<void>;

/**
 * Lets a person decide about a sign-in page that is not at the issuer's own origin. A hostile authorization server can
 * name the page of an honest one: the person signs in there in good faith, and the hostile server gets the result (OAuth 2.0
 * Security Best Current Practice, RFC 9700, section 4.4). `confirmed` are the origins that the user confirmed; new ones are
 * added.
 */
export function createConfirmOrigin(
  context: OAuthContext,
  issuer: string,
  signIn: SignIn,
  confirmed: Set<string>,
): ConfirmOrigin {
  return async ({ origin }, signal) => {
    if (origin === new URL(issuer).origin || confirmed.has(origin)) return;
    if (knownIssuer(issuer)?.pages?.includes(origin)) return;
    const { server } = context;
    const foreignOrigin = { issuer, origin };
    if (!((await signIn.confirmOrigin?.({ server, ...foreignOrigin }, signal)) ?? false)) {
      throw oauthFailure(
        context,
        "AUTHORIZATION_ORIGIN_UNCONFIRMED",
        {
          problem: `its authorization server ${peerText(context, issuer)} asks you to sign in at another origin, ${origin}, which nobody confirmed. A hostile server does this to get access to your account at ${origin}.`,
          advice: `If you know that both belong together, confirm it: ${commandLine("login", server, "--authorization-origin", origin)}`,
        },
        { details: { foreignOrigin } },
      );
    }
    confirmed.add(origin);
  };
}
