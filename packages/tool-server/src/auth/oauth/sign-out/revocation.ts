import type { AuthorizationServer } from "../discovery/authorization-server.js";
import type { OAuthContext } from "../oauth-context.js";
import { authenticateClient } from "../registration/client-authentication.js";
import type { OAuthClient } from "../registration/oauth-client.js";
import { formRequest, peerErrorOf, sendOAuthRequest } from "../requests/oauth-request.js";

/** What became of a token at its authorization server. */
export type RevocationResult =
  | { readonly kind: "revoked" }
  /** The server revokes no tokens, or none of this kind. */
  | { readonly kind: "unsupported" }
  | { readonly kind: "failed"; readonly reason: string };

/** Revokes a token (RFC 7009). Never rejects: a sign-out goes on, whatever the server says. */
export async function revokeToken(
  context: OAuthContext,
  server: AuthorizationServer,
  client: OAuthClient | undefined,
  token: string,
  hint: "access_token" | "refresh_token",
  signal?: AbortSignal,
): Promise<RevocationResult> {
  if (server.revocationEndpoint === undefined) return { kind: "unsupported" };
  try {
    const form = new URLSearchParams({ token, token_type_hint: hint });
    const headers = client === undefined ? {} : await authenticateClient(context, server, client, form);
    const request = formRequest(server.revocationEndpoint, form, "a revocation", headers);
    const answer = await sendOAuthRequest(context, request, signal);
    if (answer.status >= 200 && answer.status < 300) return { kind: "revoked" };
    const { code, text } = peerErrorOf(context, answer);
    return code === "unsupported_token_type" ? { kind: "unsupported" } : { kind: "failed", reason: text };
  } catch (error) {
    return { kind: "failed", reason: error instanceof Error ? error.message : "unknown" };
  }
}
