import { parseUrl } from "../../../url.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure } from "../oauth-failure.js";

const longestPaste = 16_384;

/**
 * The parameters of a redirect URL that a person copied from the address bar of a browser which could not reach this machine;
 * its query alone does as well. Throws SIGN_IN_FAILED where it is the url of something else.
 */
export function parsePastedRedirect(context: OAuthContext, pasted: string, redirectUri: string): URLSearchParams {
  const text = pasted.trim().slice(0, longestPaste);
  const query = /^(?:\?|(?=(?:code|error|state|iss)=))(\S+)$/.exec(text)?.[1];
  if (query !== undefined) return new URLSearchParams(query);
  const expected = new URL(redirectUri);
  const url = parseUrl(text);
  if (url?.origin === expected.origin && url.pathname === expected.pathname) return url.searchParams;
  throw oauthFailure(context, "SIGN_IN_FAILED", {
    problem: `what was pasted is not the address that the browser was sent to, which begins with ${redirectUri}?.`,
    advice: "Copy it whole, or sign in again.",
  });
}
