import { commandLine } from "../../../command-line.js";
import type { VaultDescription } from "../../vault/vault.js";
import type { ClientStore } from "../clients/client-store.js";
import type { OAuthClient } from "../clients/oauth-client.js";
import type { AuthorizationServer } from "../discovery/authorization-server.js";
import type { Discovery } from "../discovery/discover.js";
import { knownIssuer, type RequestRules } from "../discovery/known-issuers.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure, peerText } from "../oauth-errors.js";
import type { ProofKey } from "../tokens/proof-key.js";
import type { TokenOutcome } from "../tokens/token-request.js";
import type { RedirectOptions } from "./callback-receiver.js";

/**
 * Asks the user to sign in. Pass one only if a user has just done something that requires it, and is waiting: without it, no
 * browser is ever opened.
 */
export interface SignIn {
  /** Our page on which the user started it. The last page of a sign-in with a browser has a link to it. Default: none. */
  readonly returnTo?: string | undefined;
  /**
   * Shows what will be requested, and opens the sign-in page for the user. Resolves with the address that they pasted, or
   * with undefined to wait for the redirect of the browser. Rejects if they decline. The signal aborts as soon as the
   * sign-in has ended.
   */
  begin(request: SignInRequest, signal: AbortSignal): Promise<SignInReply | undefined>;
  /** Shows a sentence that the user should know while the sign-in continues. Default: it is not shown. */
  notify?(text: string): void;
  /**
   * Asks whether to sign in with another authorization server than before. Default: no, and the sign-in fails with
   * ISSUER_CHANGED.
   */
  confirmIssuer?(change: IssuerChange, signal: AbortSignal): Promise<boolean>;
  /**
   * Asks whether to sign in at a page at another origin than the authorization server. Default: no, and the sign-in
   * fails with AUTHORIZATION_ORIGIN_UNCONFIRMED.
   */
  confirmOrigin?(page: ForeignOrigin, signal: AbortSignal): Promise<boolean>;
}

/** The request that is shown to the user. It contains no secret, except a url that must not be stored. */
export interface SignInRequest {
  /** The name of the tool server. */
  readonly server: string;
  /** The authorization server. */
  readonly issuer: string;
  /** The origin of its token endpoint, if that is another one. */
  readonly tokenOrigin?: string | undefined;
  readonly reason: SignInReason;
  /** The scopes that will be requested; empty if the authorization server chooses. */
  readonly scopes: readonly string[];
  /** The scopes that were not requested at the last sign-in. */
  readonly newScopes: readonly string[];
  readonly way: SignInWay;
  /** The storage for the tokens, and its warnings. */
  readonly vault: VaultDescription;
}

/** Why the user has to sign in: on request, for the first time, because the tokens are no longer valid, or to grant more scopes. */
export type SignInReason = "asked" | "first" | "dead" | "step-up";

/** How a user signs in: in a browser, or with a code on another device. */
export type SignInWay =
  /** Open the url in a browser; it is redirected to the redirect URI, or its address is pasted. */
  | { readonly kind: "browser"; readonly url: string; readonly redirectUri: string }
  /** Open the url on any device, and enter the code. */
  | {
      readonly kind: "device";
      readonly url: string;
      /** The url that includes the code, if there is one. */
      readonly completeUrl: string | undefined;
      readonly userCode: string;
      /** In milliseconds since the epoch. */
      readonly expiresAt: number;
    };

/** The address that the browser was redirected to, as copied by the user. */
export interface SignInReply {
  readonly pasted: string;
}

/** An authorization server asks a user to sign in at another origin than its own. */
export interface ForeignOrigin {
  readonly server: string;
  readonly issuer: string;
  readonly origin: string;
  /** The origin of its token endpoint, if that is not its own. */
  readonly tokenOrigin?: string | undefined;
}

/** A tool server names another authorization server than before. */
export interface IssuerChange {
  readonly server: string;
  readonly from: string;
  readonly to: string;
}

/** The dependencies of one sign-in, with a browser or by device. */
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
  readonly isDryRun: boolean;
  /** Aborts when the time limit of the sign-in is reached, or the caller gave up. */
  readonly signal: AbortSignal;
}

/** The result of a sign-in, and its client. */
export interface SignInOutcome {
  readonly client: OAuthClient;
  readonly outcome: TokenOutcome;
}

/** The origin of the token endpoint, if it is not that of the issuer. */
export function tokenOriginOf({ issuer, tokenEndpoint }: AuthorizationServer): string | undefined {
  return tokenEndpoint.origin === new URL(issuer).origin ? undefined : tokenEndpoint.origin;
}

/** Checks that a user may be sent to a page. Rejects with AUTHORIZATION_ORIGIN_UNCONFIRMED. */
type ConfirmOrigin = (page: URL, signal: AbortSignal) => Promise<void>;

/**
 * Lets a user decide about a sign-in page that is not at the issuer's own origin. A hostile authorization server can
 * name the page of an honest one: the user signs in there in good faith, and the hostile server gets the result (OAuth 2.0
 * Security Best Current Practice, RFC 9700, section 4.4). `confirmed` are the origins that the user confirmed; new ones are
 * added.
 */
export function createConfirmOrigin(
  context: OAuthContext,
  authorizationServer: AuthorizationServer,
  signIn: SignIn,
  confirmed: Set<string>,
): ConfirmOrigin {
  const { issuer } = authorizationServer;
  return async ({ origin }, signal) => {
    if (origin === new URL(issuer).origin || confirmed.has(origin)) return;
    if (knownIssuer(issuer)?.pages?.includes(origin)) return;
    const { server } = context;
    const tokenOrigin = tokenOriginOf(authorizationServer);
    const foreignOrigin = { issuer, origin, ...(tokenOrigin && { tokenOrigin }) };
    if (!((await signIn.confirmOrigin?.({ server, ...foreignOrigin }, signal)) ?? false)) {
      const code = "AUTHORIZATION_ORIGIN_UNCONFIRMED";
      const tokens = tokenOrigin === undefined ? "" : ` Tokens would be requested from ${tokenOrigin}.`;
      const problem = `its authorization server ${peerText(context, issuer)} asks you to sign in at another origin, ${origin}, which you have not confirmed.${tokens} A hostile server does this to get access to your account at ${origin}.`;
      const advice = `If you know that both belong together, confirm it: ${commandLine("login", server, "--authorization-origin", origin)}`;
      throw oauthFailure(context, code, { problem, advice }, { details: { foreignOrigin } });
    }
    confirmed.add(origin);
  };
}
