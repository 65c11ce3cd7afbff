import { untilAborted } from "../../../clock.js";
import { commandLine } from "../../../command-line.js";
import type { ToolServerError } from "../../../errors.js";
import type { ClientStore } from "../clients/client-store.js";
import type { OAuthClient } from "../clients/oauth-client.js";
import type { RequestRules } from "../discovery/known-issuers.js";
import type { AuthorizationServer } from "../discovery/metadata.js";
import type { HeldToken } from "../login-store.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure } from "../oauth-errors.js";
import type { ProofKey } from "../tokens/proof-key.js";
import type { TokenOutcome } from "../tokens/token-request.js";
import type { Ask, SignInPrompt, SignInWay } from "./ask.js";

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
  readonly ask: Ask;
  readonly prompt: Omit<SignInPrompt, "way">;
  /** The page on which the user started it. */
  readonly returnTo: string | undefined;
  /** Whether it stops before it registers a client or asks the user. */
  readonly isDryRun: boolean;
  readonly signal: AbortSignal;
  /** Checks that the user may be sent to a page. Rejects with AUTHORIZATION_ORIGIN_UNCONFIRMED. */
  confirmOrigin(page: URL): Promise<void>;
  /** Resolves when another process has signed in. */
  signedInElsewhere(signal: AbortSignal): Promise<HeldToken>;
}

/** The result of an attempt: of a token request, or a token of another process. */
export type AttemptResult =
  | { readonly client: OAuthClient; readonly outcome: TokenOutcome }
  | { readonly held: HeldToken };

/** What the user did. */
export type UserReply<T> = { readonly reply: T } | { readonly held: HeldToken };

/**
 * Shows the user what to do, and waits for `replied`, for another process that signs in, and at most until the time limit. Rejects with
 * SIGN_IN_FAILED if it is reached, and if the user declines.
 */
export async function waitForUser<T>(
  { context, ask, prompt, signal, signedInElsewhere }: SignInAttempt,
  way: SignInWay,
  replied: (signal: AbortSignal, pasted: Promise<string>) => Promise<T>,
): Promise<UserReply<T>> {
  const { clock, limits } = context;
  const over = new AbortController();
  const both = AbortSignal.any([signal, over.signal]);
  const cancelTimer = clock.after(limits.signInMs, () => {
    const problem = `the sign-in was not completed within ${limits.signInMs / 1000} s.`;
    const advice = "Sign in again; if the browser cannot reach this machine, paste the address of its last page.";
    over.abort(oauthFailure(context, "SIGN_IN_FAILED", { problem, advice }));
  });
  const shown = ask.show({ ...prompt, way }, both);
  // Only a pasted address ends the wait; showing the page does not.
  const pasted = shown.then((address) => address ?? new Promise<never>(() => undefined));
  const waits = [
    replied(both, pasted).then((reply): UserReply<T> => ({ reply })),
    signedInElsewhere(both).then((held): UserReply<T> => ({ held })),
    pasted.then(() => new Promise<never>(() => undefined)),
  ];
  for (const wait of waits) wait.catch(() => undefined);
  try {
    return await untilAborted(Promise.race(waits), both);
  } finally {
    cancelTimer();
    over.abort(new DOMException("The sign-in has ended.", "AbortError"));
  }
}

/** The end of an attempt that only reports what it would do. */
export function stoppedBeforeSignIn(context: OAuthContext): ToolServerError {
  const problem = "the flow stopped before the sign-in, as requested.";
  const advice = `Sign in with: ${commandLine("login", context.server)}`;
  return oauthFailure(context, "SIGN_IN_NEEDED", { problem, advice });
}
