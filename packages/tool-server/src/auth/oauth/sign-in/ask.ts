import type { VaultDescription } from "../../vault/vault.js";
import type { OAuthContext, RedirectOptions } from "../oauth-context.js";
import type { OAuthEvent } from "../oauth-log.js";

/**
 * Asks the user to sign in. Pass one only if a user has just done something that requires it, and is waiting: without it, no
 * browser is ever opened.
 */
export interface Ask {
  /** Receives the redirect of the browser. Default: this process does, on the loopback interface. */
  readonly redirector?: Redirector | undefined;
  /**
   * Shows what will be requested, and the sign-in page or the code. Resolves with the address that the user pasted, or with undefined to
   * wait for the redirect of the browser. Rejects if they decline. The signal aborts as soon as the sign-in has ended.
   */
  show(prompt: SignInPrompt, signal: AbortSignal): Promise<string | undefined>;
  /** Asks whether to continue. Default: no, and the sign-in fails with ISSUER_CHANGED or AUTHORIZATION_ORIGIN_UNCONFIRMED. */
  confirm?(question: IssuerChange | ForeignOrigin, signal: AbortSignal): Promise<boolean>;
  /** Called with what happens, and with each request. Must not throw. Default: nothing is shown. */
  onEvent?(event: OAuthEvent): void;
}

/** What is shown to the user. It contains no secret, except a url that must not be stored. */
export interface SignInPrompt {
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

/** A tool server names another authorization server than before. */
export interface IssuerChange {
  readonly kind: "issuer";
  readonly server: string;
  readonly from: string;
  readonly to: string;
}

/** An authorization server asks a user to sign in at another origin than its own. */
export interface ForeignOrigin {
  readonly kind: "origin";
  readonly server: string;
  readonly issuer: string;
  readonly origin: string;
  /** The origin of its token endpoint, if that is not its own. */
  readonly tokenOrigin?: string | undefined;
}

/** Receives the redirects of browsers. */
export interface Redirector {
  open(context: OAuthContext, wanted: RedirectOptions): Promise<Redirect>;
}

/** The redirect of one sign-in. */
export interface Redirect {
  readonly uri: string;
  /** The `state` of its authorization request. */
  readonly state: string;
  /** The address that the user opens, for the url of an authorization request. */
  linkTo(url: string): string;
  /** Resolves with the first response with this state; others are rejected. Rejects with the signal's reason. The browser waits for `end`. */
  receive(signal: AbortSignal): Promise<URLSearchParams>;
  /** Shows the browser how the sign-in ended, if it waits, and receives nothing more. Never rejects. */
  end(ending?: SignInEnding): Promise<void>;
}

/** How a sign-in ended, for the last page in the browser. */
export interface SignInEnding {
  /** Why it failed; undefined if it succeeded. */
  readonly failure?: unknown;
  /** The page on which the user started it. */
  readonly returnTo?: string | undefined;
}
