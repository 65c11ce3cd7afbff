import { backOffMs } from "../../../back-off.js";
import { commandLine, isPlainScope } from "../../../command-line.js";
import { describeReason, ToolServerError, type ToolServerErrorCode } from "../../../errors.js";
import { giveUp, type RefusalDecision, statusText } from "../../credentials/credential.js";
import type { ResourceChallenge } from "../discovery/resource-challenge.js";
import { maxScopes, scopesBeyond, unionOf } from "../discovery/scopes.js";
import { type HeldToken, scopesOf } from "../login-store.js";
import { oauthFailure, peerText } from "../oauth-errors.js";
import type { Ask, SignInReason } from "../sign-in/ask.js";
import type { TokenManager } from "../tokens/token-manager.js";
import type { OAuthLogin } from "./oauth-login.js";

/** A 401 or 403 response, and the token of its request. */
interface RefusedToken {
  readonly status: number;
  readonly attempt: number;
  readonly challenge: ResourceChallenge;
  /** Undefined if the request had none. */
  readonly token: HeldToken | undefined;
}

/** Decides about a refused token: retry with another one, ask a user, or give up. */
type RefusalPolicy = (refused: RefusedToken, signal: AbortSignal) => Promise<RefusalDecision>;

/** How many nonces in a row a tool server may demand for one request. */
export const maxNonces = 2;
/** How often a session requests more scopes, for servers that always demand more. */
const maxStepUps = 5;
/** The failures of a sign-in after which the next one would fail in the same way. */
const lastingCodes: readonly ToolServerErrorCode[] = ["REGISTRATION_REFUSED", "AUTHORIZATION_SERVER_INVALID"];
const firstPauseMs = 30_000;
const maxPauseMs = 600_000;

/** `login` is the command with which a user signs in, or false if there is none; `keyHeaders` are the headers of the entry that may carry an API key. */
export function createRefusalPolicy(
  session: OAuthLogin,
  ask: Ask | undefined,
  login: string | false = commandLine("login", session.context.server),
  keyHeaders: readonly string[] = [],
): RefusalPolicy {
  const { context } = session;
  const { clock, log } = context;
  const howToSignIn = ask === undefined ? "pass `oauth.signIn`, such as createTerminalSignIn()" : "call again later";
  const stepUps = new Set<string>();
  let pause: { readonly count: number; readonly until: number; readonly why: string } | undefined;
  /** The last token that replaced a refused one. */
  let renewed: string | undefined;
  /** The last token from a sign-in: a server that refuses it will refuse the next one too. */
  let signedIn: string | undefined;

  /** After a failed sign-in, the user is not asked again automatically for a while. */
  const pauseSignIns = (why: string): void => {
    const count = (pause?.count ?? 0) + 1;
    pause = { count, until: clock.now() + backOffMs(count, firstPauseMs, maxPauseMs), why };
  };

  const askUser = async (
    reason: SignInReason,
    why: string,
    { status, challenge, token }: RefusedToken,
    signal: AbortSignal,
  ): Promise<RefusalDecision> => {
    if (reason === "step-up") session.requestScopesLater(challenge.scopes);
    const scopes = reason === "step-up" ? challenge.scopes.filter(isPlainScope) : [];
    const advice =
      login === false
        ? `To sign in, ${howToSignIn}.`
        : `Sign in with: ${[login, ...scopes.map((scope) => `--scope ${scope}`)].join(" ")}`;
    // A 403 that does not ask for a token may have any reason, such as a firewall, so no sign-in is started.
    if ((ask === undefined || status === 403) && reason === "first" && !challenge.isOAuth) {
      // A server that needs an API key responds in the same way, so do not claim that it uses OAuth.
      const named = keyHeaders.join(" and ");
      const key = `If it needs an API key, ${named === "" ? "configure a header for it" : `check the value of ${named}`}.`;
      const problem = `${statusText(status)}: the server does not say how to sign in.`;
      const code = status === 403 ? "FORBIDDEN" : "UNAUTHORIZED";
      const failed = await session.store.readFailure();
      const next = login === false ? `If it supports OAuth, ${howToSignIn}.` : `If it supports OAuth: ${login}`;
      const isLasting = failed !== undefined && lastingCodes.includes(failed.error.code);
      if (!isLasting) return giveUp(problem, `${key} ${next}`, code);
      // The same sign-in would fail again.
      return giveUp(`${problem} The last sign-in failed: ${describeReason(failed.error)}`, key, code);
    }
    if (ask === undefined) return giveUp(why, advice, "SIGN_IN_NEEDED", { scopes });
    if (pause !== undefined && clock.now() < pause.until) {
      return giveUp(`${why} ${pause.why}`, advice, "SIGN_IN_NEEDED", { scopes });
    }
    try {
      const { revision } = await session.signIn(ask, { challenge, reason, refused: token }, signal);
      signedIn = revision;
      return { action: "retry" };
    } catch (error) {
      signal.throwIfAborted();
      if (!ToolServerError.is(error)) throw error;
      const problem = describeReason(error);
      pauseSignIns(`The last sign-in failed, so the next one has to be started manually. ${problem}`);
      return giveUp(problem, error.advice, error.code);
    }
  };

  const stepUp = async (refused: RefusedToken, token: HeldToken, signal: AbortSignal): Promise<RefusalDecision> => {
    const { status, attempt, challenge } = refused;
    const required = challenge.scopes.map((scope) => peerText(context, scope)).join(" ");
    const why = `${statusText(status)}: scope ${required || "unknown"} required.`;
    if (attempt > 1) return giveUp(`${why} The token was just obtained for it, and is not sufficient.`);
    const current = await (await session.tokens())?.current(signal);
    const isWider = current !== undefined && current.revision !== token.revision;
    if (isWider && scopesBeyond(scopesOf(current.record), challenge.scopes).length === 0) return { action: "retry" };
    const added = scopesBeyond(token.record.requestedScopes, challenge.scopes);
    if (added.length === 0) {
      const advice = "Ask an administrator of the server for it.";
      return giveUp(`${why} It was requested at sign-in, but not granted.`, advice);
    }
    if (session.isMachine) return giveUp(why, "Grant the client that scope, and add it to the configuration.");
    const isNew = !stepUps.has(required);
    const isTooMuch = unionOf(token.record.requestedScopes, added).length > maxScopes;
    if (isTooMuch || (isNew && stepUps.size >= maxStepUps)) {
      return giveUp(`${why} The server demanded more scopes too often, so no more are requested.`);
    }
    stepUps.add(required);
    return askUser("step-up", why, refused, signal);
  };

  return async (refused, signal) => {
    const { status, attempt, challenge, token } = refused;
    if (challenge.error === "insufficient_scope" && token !== undefined) {
      return log.run("step-up", "refusal", async (setEnding) => {
        const decision = await stepUp(refused, token, signal);
        if (decision.action === "give-up") {
          const { code = "FORBIDDEN", reason: problem, advice = "" } = decision;
          setEnding({ outcome: "failed", code });
          await session.store.keepFailure("step-up", oauthFailure(context, code, { problem, advice }));
        }
        return decision;
      });
    }
    // Some servers respond with 403 instead of 401 if there is no token.
    if (status === 403 && token !== undefined) return giveUp("403 Forbidden: the account has no access.");
    const isBound = token?.record.tokenType === "DPoP";
    const isOwn = token !== undefined && (token.revision === renewed || token.revision === signedIn);
    // A demand for a nonce is an attempt too, after which the token is still the same.
    const isFirst = attempt === 1 || (isBound && !isOwn && attempt <= maxNonces + 1);
    if (!isFirst) {
      if (token !== undefined) {
        const pause = (tokens: TokenManager | undefined): void => tokens?.pause(token);
        // A session that is closed, or whose vault cannot be read, has nothing to pause.
        await session.tokens().then(pause, () => undefined);
      }
      const mayAsk = attempt <= (isBound ? maxNonces + 2 : 2) && !session.isMachine;
      if (mayAsk && token !== undefined && token.revision !== signedIn) {
        const why = "401 Unauthorized: the server rejected a token that was just renewed.";
        return askUser("dead", why, refused, signal);
      }
      pauseSignIns("It rejected a token that was just obtained.");
      const problem = `${statusText(status)}: the server rejected a token that was just obtained.`;
      const advice = `Check the url and the settings of the server, or sign out and in again: ${commandLine("logout", context.server)}`;
      return giveUp(problem, advice, "SIGN_IN_NEEDED");
    }
    let notRenewed: ToolServerError | undefined;
    try {
      const tokens = await session.tokens({ isFresh: token === undefined, challenge, signal });
      const other = await tokens?.replace(token, signal);
      renewed = other?.revision;
      if (other !== undefined) return { action: "retry" };
      notRenewed = tokens?.state.refusal;
    } catch (error) {
      signal.throwIfAborted();
      if (!ToolServerError.is(error)) throw error;
      return giveUp(describeReason(error), error.advice, error.code);
    }
    const problem =
      token === undefined
        ? `${statusText(status)}: sign-in required.`
        : "401 Unauthorized: the token cannot be renewed.";
    const why =
      notRenewed === undefined ? problem : `${problem} The last renewal was refused: ${describeReason(notRenewed)}`;
    if (session.isMachine) return giveUp(why, "Check the client and its scopes.", "TOKEN_REFUSED");
    return askUser(session.describe().issuer === undefined ? "first" : "dead", why, refused, signal);
  };
}
