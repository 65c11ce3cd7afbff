import { backOffMs } from "../../../back-off.js";
import { commandLine } from "../../../command-line.js";
import { untracked } from "../../../diagnostics.js";
import { describeProblem, ToolServerError } from "../../../errors.js";
import type { RefusalDecision } from "../../credentials/credential.js";
import { giveUp } from "../../credentials/refusal-rules.js";
import type { ResourceChallenge } from "../discovery/resource-challenge.js";
import { mostScopes, scopesBeyond, unionOf } from "../discovery/scopes.js";
import { peerText } from "../oauth-errors.js";
import type { SignIn, SignInReason } from "../sign-in/sign-in.js";
import type { TokenManager } from "../tokens/token-manager.js";
import { type HeldToken, scopesOf } from "../tokens/token-store.js";
import type { OAuthSession } from "./oauth-session.js";

/** A 401 or 403, and what the request carried. */
export interface RefusedToken {
  readonly status: number;
  readonly attempt: number;
  readonly challenge: ResourceChallenge;
  /** None where the request went without. */
  readonly token: HeldToken | undefined;
}

/** Decides what a refused token means: another one, a person to ask, or the end. */
export interface RefusalPolicy {
  decide(refused: RefusedToken, signal: AbortSignal): Promise<RefusalDecision>;
}

/** The nonces that a tool server may demand of one request, one after the other. */
export const mostNonces = 2;
/** So often in a session more permissions are asked for: a server that always wants more gets no more. */
const mostStepUps = 5;
const firstPauseMs = 30_000;
const longestPauseMs = 600_000;

/** `login` is the command by which a person signs in. */
export function createRefusalPolicy(
  session: OAuthSession,
  signIn: SignIn | undefined,
  login: string = commandLine("login", session.context.server),
): RefusalPolicy {
  const { context } = session;
  const { clock, track = untracked } = context;
  const stepUps = new Set<string>();
  let pause: { readonly count: number; readonly until: number; readonly why: string } | undefined;
  /** The last token that took the place of a refused one. */
  let renewed: string | undefined;
  /** The last token that a sign-in gave: who refuses that one will refuse the next. */
  let signedIn: string | undefined;

  /** After a sign-in that led nowhere, nobody is asked again by themselves for a while. */
  const rest = (why: string): void => {
    const count = (pause?.count ?? 0) + 1;
    pause = { count, until: clock.now() + backOffMs(count, firstPauseMs, longestPauseMs), why };
  };

  const ask = async (
    reason: SignInReason,
    why: string,
    { challenge, token }: RefusedToken,
    signal: AbortSignal,
  ): Promise<RefusalDecision> => {
    if (reason === "step-up") session.requestScopesLater(challenge.scopes);
    const advice = `Sign in with: ${login}${reason === "step-up" ? scopeOptions(challenge.scopes) : ""}`;
    if (signIn === undefined && reason === "first" && !challenge.isOAuth) {
      // A server that wants an API key answers the same, so nothing is said to be known that is not.
      const key = "If it wants an API key, give the entry a header for that.";
      const problem = "The server responded with 401, and does not say how to sign in.";
      return giveUp(problem, `${key} If it takes OAuth: ${login}`, "UNAUTHORIZED");
    }
    if (signIn === undefined) return giveUp(why, advice, "SIGN_IN_NEEDED");
    if (pause !== undefined && clock.now() < pause.until) {
      return giveUp(`${why} ${pause.why}`, advice, "SIGN_IN_NEEDED");
    }
    try {
      const { revision } = await session.signIn(signIn, { challenge, reason, refused: token }, signal);
      signedIn = revision;
      return { action: "retry" };
    } catch (error) {
      signal.throwIfAborted();
      if (!ToolServerError.is(error)) throw error;
      const problem = describeProblem(error);
      rest(`A sign-in failed a moment ago, so nobody is asked again by itself yet. It failed so: ${problem}`);
      return giveUp(problem, error.advice, error.code);
    }
  };

  const stepUp = async (refused: RefusedToken, token: HeldToken, signal: AbortSignal): Promise<RefusalDecision> => {
    const { status, attempt, challenge } = refused;
    const wanted = challenge.scopes.map((scope) => peerText(context, scope)).join(" ");
    const why = `The server responded with ${status}: it needs the permission ${wanted || "that it does not name"}.`;
    if (attempt > 1) return giveUp(`${why} The token was just obtained for it, and is not enough.`);
    const current = await (await session.tokens())?.current(signal);
    const isWider = current !== undefined && current.revision !== token.revision;
    if (isWider && scopesBeyond(scopesOf(current.record), challenge.scopes).length === 0) return { action: "retry" };
    const added = scopesBeyond(token.record.requestedScopes, challenge.scopes);
    if (added.length === 0) {
      const ask = "Ask an administrator of the server for it.";
      return giveUp(`${why} It was requested when you signed in, and not granted.`, ask);
    }
    if (session.isMachine) return giveUp(why, "Give the client that permission, and name it in the configuration.");
    const isNew = !stepUps.has(wanted);
    const isTooMuch = unionOf(token.record.requestedScopes, added).length > mostScopes;
    if (isTooMuch || (isNew && stepUps.size >= mostStepUps)) {
      return giveUp(`${why} It has asked for more permissions too often, so they are not asked for again.`);
    }
    stepUps.add(wanted);
    return ask("step-up", why, refused, signal);
  };

  return {
    async decide(refused, signal) {
      const { status, attempt, challenge, token } = refused;
      if (challenge.error === "insufficient_scope" && token !== undefined) {
        return track("step-up", "refusal", async (setOutcome) => {
          const decision = await stepUp(refused, token, signal);
          if (decision.action === "give-up") setOutcome({ outcome: "failed", code: decision.code ?? "FORBIDDEN" });
          return decision;
        });
      }
      if (status === 403) return giveUp("The server responded with 403: it knows who asks, and does not allow it.");
      const isBound = token?.record.tokenType === "DPoP";
      const isOwn = token !== undefined && (token.revision === renewed || token.revision === signedIn);
      // A demand for a nonce is an attempt as well, after which the token is still the one of before.
      const isFirst = attempt === 1 || (isBound && !isOwn && attempt <= mostNonces + 1);
      if (!isFirst) {
        if (token !== undefined) {
          const pause = (tokens: TokenManager | undefined): void => tokens?.pause(token);
          // A session that is closed, or whose vault cannot be read, has nothing to pause.
          await session.tokens().then(pause, () => undefined);
        }
        const mayAsk = attempt <= (isBound ? mostNonces + 2 : 2) && !session.isMachine;
        if (mayAsk && token !== undefined && token.revision !== signedIn) {
          const why = "The server responded with 401, also to a token that was just renewed.";
          return ask("dead", why, refused, signal);
        }
        rest("It refused a token that was just obtained.");
        const problem = "The server responded with 401, also to a token that was just obtained.";
        const advice = `If that stays, check the url and the server's own settings, and sign out and in again: ${commandLine("logout", context.server)}`;
        return giveUp(problem, advice, "SIGN_IN_NEEDED");
      }
      try {
        const tokens = await session.tokens({ isFresh: token === undefined, challenge, signal });
        const other = await tokens?.replace(token, signal);
        renewed = other?.revision;
        if (other !== undefined) return { action: "retry" };
      } catch (error) {
        signal.throwIfAborted();
        if (!ToolServerError.is(error)) throw error;
        return giveUp(describeProblem(error), error.advice, error.code);
      }
      const why =
        token === undefined
          ? "The server responded with 401: it requires a sign-in."
          : "The server responded with 401, and its token cannot be renewed.";
      if (session.isMachine) return giveUp(why, "Check the client and its permissions.", "TOKEN_REFUSED");
      return ask(session.describe().issuer === undefined ? "first" : "dead", why, refused, signal);
    },
  };
}

/** What asks for these permissions on the command line. One that a shell would act on is not told: people paste commands. */
function scopeOptions(scopes: readonly string[]): string {
  return scopes
    .filter((scope) => /^[\w.:/-]+$/.test(scope))
    .map((scope) => ` --scope ${scope}`)
    .join("");
}
