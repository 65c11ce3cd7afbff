import type { VaultDescription } from "../../vault/vault.js";

/**
 * Asks a person to sign in. Pass one only if a person has just done something that needs it, and waits: without it, no
 * browser is ever opened.
 */
export interface SignIn {
  /** The page of ours on which the person started it. The last page of a sign-in with a browser has a link to it. Default: none. */
  readonly returnTo?: string | undefined;
  /**
   * Shows what will be requested, and takes the person to the sign-in page. Resolves with the address that they pasted, or
   * with undefined to wait for the redirect of the browser. Rejects if they decline. The signal aborts as soon as the
   * sign-in has ended.
   */
  begin(request: SignInRequest, signal: AbortSignal): Promise<SignInReply | undefined>;
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

/** What a person is asked. It contains no secret, except a url that must not be stored. */
export interface SignInRequest {
  /** The name of the tool server. */
  readonly server: string;
  /** The authorization server. */
  readonly issuer: string;
  readonly reason: SignInReason;
  /** The scopes that will be requested; empty if the authorization server chooses. */
  readonly scopes: readonly string[];
  /** The scopes that were not requested at the last sign-in. */
  readonly newScopes: readonly string[];
  readonly way: SignInWay;
  /** The storage for the tokens, and its warnings. */
  readonly vault: VaultDescription;
}

/** Why a person has to sign in: they asked for it, it is the first time, the tokens are dead, or more scopes are needed. */
export type SignInReason = "asked" | "first" | "dead" | "step-up";

/** How a person signs in: in a browser, or with a code on another device. */
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

/** The address that the browser was redirected to, as copied by the person. */
export interface SignInReply {
  readonly pasted: string;
}

/** An authorization server asks a person to sign in at another origin than its own. */
export interface ForeignOrigin {
  readonly server: string;
  readonly issuer: string;
  readonly origin: string;
}

/** A tool server names another authorization server than before. */
export interface IssuerChange {
  readonly server: string;
  readonly from: string;
  readonly to: string;
}
