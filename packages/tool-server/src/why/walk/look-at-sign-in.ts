import type { ConnectionInfo } from "../../connection-info.js";
import { ToolServerError } from "../../errors.js";
import type { AttemptFacts } from "../facts.js";
import type { OAuthFacts } from "../oauth-facts.js";
import { lookAtAuthorization } from "./look-at-authorization.js";
import { lookAtClient } from "./look-at-client.js";
import type { SignInLook } from "./open-sign-in.js";
import type { Walk } from "./walk.js";

/**
 * Looks at the authorization server of a tool server: where it asked for a sign-in, or somebody signed in before. A server
 * that wants to know nobody has none. `attempt` is undefined where it was not come to.
 */
export async function lookAtSignIn(
  walk: Walk,
  signIn: SignInLook,
  attempt: AttemptFacts | undefined,
  facts: ConnectionInfo,
): Promise<OAuthFacts> {
  const { session, options, vault, vaultFailure, before, events } = signIn;
  const stored = (): OAuthFacts => ({ vault, vaultFailure, before, events: [...events] });
  const isAsked = attempt?.refusal !== undefined || before?.issuer !== undefined;
  if (session === undefined || options === undefined || attempt === undefined || !isAsked) return stored();
  try {
    const { resource, authorization, server } = await lookAtAuthorization(session.context, {
      challenged: attempt.refusal?.challenge?.resourceMetadata ?? [],
      knownIssuer: before?.issuer,
      pinnedIssuer: options.issuer,
      signal: walk.signal,
    });
    const looks = { ...stored(), resource, authorization };
    for (const line of [...resource.evidence, ...authorization.evidence]) walk.report(facts, "info", line);
    // Who works has a client that is known.
    if (server === undefined || attempt.failure === undefined) return looks;
    const name = resource.resource ?? session.context.url.href;
    const client = await lookAtClient(session.context, { options, server, resource: name, signal: walk.signal });
    for (const line of client.evidence) walk.report(facts, "info", line);
    return { ...looks, events: [...events], client };
  } catch (error) {
    if (!ToolServerError.is(error)) throw error;
    return stored();
  }
}
