import type { OAuthContext } from "../oauth-context.js";
import { sendOAuthRequest } from "../requests/oauth-request.js";

const complaint =
  /invalid[_ ]client|unauthorized[_ ]client|unknown[_ ]client|client[^.<]{0,40}(?:not found|does not exist|not registered|unknown|invalid)|redirect[_ ]uri/i;

/**
 * Whether the authorization server says of a registration that it does not know it. A browser would show that to a person and
 * send no answer back, so we ask first. Only a refusal that names the client or its redirect counts; all else is for the
 * browser to find out.
 */
export async function isClientDead(
  context: OAuthContext,
  authorizationUrl: URL,
  signal?: AbortSignal,
): Promise<boolean> {
  try {
    const request = {
      method: "GET",
      url: authorizationUrl,
      headers: { accept: "text/html, application/json" },
    } as const;
    const { status, body } = await sendOAuthRequest(
      context,
      { ...request, asked: "a look at the registration" },
      signal,
    );
    return [400, 401, 403, 404].includes(status) && complaint.test(body);
  } catch {
    signal?.throwIfAborted();
    return false;
  }
}
