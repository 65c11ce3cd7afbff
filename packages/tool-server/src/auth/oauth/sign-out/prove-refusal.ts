import { createProof, proofKeyOf } from "../grants/proof-key.js";
import type { OAuthContext } from "../oauth-context.js";
import type { TokenRecord } from "../tokens/token-record.js";
import type { SignOutProof } from "./sign-out-report.js";

/** Sends an old token to its own tool server once more, with a ping, to see that it is refused. Never rejects. */
export async function proveRefusal(
  context: OAuthContext,
  { accessToken, tokenType, proofKey, expiresAt }: TokenRecord,
  signal?: AbortSignal,
): Promise<SignOutProof> {
  const { http, url, limits } = context;
  try {
    const key = proofKey === undefined ? undefined : await proofKeyOf(context, proofKey);
    const proof = key === undefined ? undefined : await createProof(context, key, { method: "POST", url, accessToken });
    const answer = await http.send({
      method: "POST",
      url,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `${tokenType} ${accessToken}`,
        ...(proof === undefined ? {} : { dpop: proof }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
      headersTimeoutMs: limits.requestMs,
      signal,
    });
    answer.discard();
    const { status } = answer;
    if (status === 401) return { kind: "refused", status };
    // What the server makes of the ping itself does not matter: it looked beyond the token.
    if (status < 500 && status !== 403 && status !== 429 && (status < 300 || status >= 400))
      return { kind: "accepted", status, until: expiresAt };
    return { kind: "unclear", reason: `The server answered ${status}.` };
  } catch (error) {
    return { kind: "unclear", reason: error instanceof Error ? error.message : "unknown" };
  }
}
