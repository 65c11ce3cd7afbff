import { commandLine } from "../../../command-line.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure, peerText } from "../oauth-failure.js";
import type { SignIn } from "./sign-in.js";

/** Makes sure that a person may be sent to a page. Rejects with AUTHORIZATION_ORIGIN_UNCONFIRMED. */
export type ConfirmOrigin = (page: URL, signal: AbortSignal) => Promise<void>;

/**
 * Lets a person decide about a sign-in page that is not at the issuer's own origin. A hostile authorization server can
 * name the page of an honest one: the person signs in there in good faith, and the hostile server gets the result (OAuth 2.0
 * Security Best Current Practice, RFC 9700, section 4.4). `confirmed` are origins that the user agreed to; one that is
 * confirmed now is added.
 */
export function createConfirmOrigin(
  context: OAuthContext,
  issuer: string,
  signIn: SignIn,
  confirmed: Set<string>,
): ConfirmOrigin {
  return async ({ origin }, signal) => {
    if (origin === new URL(issuer).origin || confirmed.has(origin)) return;
    const { server } = context;
    const foreignOrigin = { issuer, origin };
    if (!((await signIn.confirmOrigin?.({ server, ...foreignOrigin }, signal)) ?? false)) {
      throw oauthFailure(
        context,
        "AUTHORIZATION_ORIGIN_UNCONFIRMED",
        {
          problem: `its authorization server ${peerText(context, issuer)} wants you to sign in at another origin, ${origin}, and nobody confirmed that. A hostile server does this to get at your account at ${origin}.`,
          advice: `If you know that both belong together, confirm it: ${commandLine("login", server, "--authorization-origin", origin)}`,
        },
        { details: { foreignOrigin } },
      );
    }
    confirmed.add(origin);
  };
}
