import type { ToolServerError } from "../../../errors.js";
import type { OAuthContext } from "../oauth-context.js";
import { tellEvent } from "../oauth-event.js";
import { oauthFailure, peerText } from "../oauth-failure.js";

/** That the tool server names another authorization server than before. Nothing was sent to the new one but questions for its metadata. */
export function issuerChanged(context: OAuthContext, from: string, to: string): ToolServerError {
  const change = `it named ${peerText(context, from)} as its authorization server before, and names ${peerText(context, to)} now`;
  tellEvent(context, "issuer-changed", `The server changed: ${change}.`, "warning");
  return oauthFailure(
    context,
    "ISSUER_CHANGED",
    {
      problem: `${change}. Somebody may want your sign-in for themselves.`,
      advice: "Ask its operator; if the change is intended, sign in again and confirm it.",
    },
    { details: { issuerChange: { from, to } } },
  );
}
