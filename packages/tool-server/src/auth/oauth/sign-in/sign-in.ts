import type { VaultDescription } from "../../vault/vault.js";

/**
 * How a person is asked to sign in. Who hands one over says that a person has just done something that needs it, and waits:
 * without it, no browser is ever opened.
 */
export interface SignIn {
  /**
   * Shows what will be asked for, and brings the person to where they sign in. Resolves with the address that they pasted, or
   * with undefined to go on waiting for the browser's own answer. Rejects where they decline. The signal aborts as soon
   * as the sign-in is over, however it came about.
   */
  begin(request: SignInRequest, signal: AbortSignal): Promise<SignInReply | undefined>;
  /**
   * Asks whether to sign in with another authorization server than before. Default: no, and the sign-in fails with
   * ISSUER_CHANGED.
   */
  confirmIssuer?(change: IssuerChange, signal: AbortSignal): Promise<boolean>;
  /**
   * Asks whether to sign in at a page that is at another origin than the authorization server. Default: no, and the sign-in
   * fails with AUTHORIZATION_ORIGIN_UNCONFIRMED.
   */
  confirmOrigin?(page: ForeignOrigin, signal: AbortSignal): Promise<boolean>;
}

/** What a sign-in asks of a person. Nothing in it is secret, but for a url that must not be kept. */
export interface SignInRequest {
  /** The name of the tool server. */
  readonly server: string;
  /** The authorization server. */
  readonly issuer: string;
  readonly reason: SignInReason;
  /** The permissions that will be asked for; none where the authorization server chooses. */
  readonly scopes: readonly string[];
  /** Those of them that were not asked for at the last sign-in. */
  readonly newScopes: readonly string[];
  readonly way: SignInWay;
  /** Where the tokens will rest, and what to warn of. */
  readonly vault: VaultDescription;
}

/** Why a person has to sign in: they asked for it, it is the first time, the tokens are dead, or more permissions are needed. */
export type SignInReason = "asked" | "first" | "dead" | "step-up";

/** How a person signs in: in a browser, or with a code on another device. */
export type SignInWay =
  /** Open the url in a browser; it comes back to the redirect URI by itself, or its address is pasted. */
  | { readonly kind: "browser"; readonly url: string; readonly redirectUri: string }
  /** Open the url on any device, and enter the code. */
  | {
      readonly kind: "device";
      readonly url: string;
      /** The url with the code in it, where there is one. */
      readonly completeUrl: string | undefined;
      readonly userCode: string;
      /** In milliseconds since the epoch. */
      readonly expiresAt: number;
    };

/** The address that the browser was sent to, as the person copied it. */
export interface SignInReply {
  readonly pasted: string;
}

/** That an authorization server wants a person to sign in at another origin than its own. */
export interface ForeignOrigin {
  readonly server: string;
  readonly issuer: string;
  readonly origin: string;
}

/** That a tool server names another authorization server than the one that was used before. */
export interface IssuerChange {
  readonly server: string;
  readonly from: string;
  readonly to: string;
}
