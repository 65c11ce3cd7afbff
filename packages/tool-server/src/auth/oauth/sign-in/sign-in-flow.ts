import { messageOf, ToolServerError } from "../../../errors.js";
import { oauthFailure } from "../oauth-errors.js";
import { proofKeyToJson } from "../tokens/proof-key.js";
import { tokensOf } from "../tokens/token-request.js";
import type { TokenRecord } from "../tokens/token-store.js";
import { signInByBrowser } from "./browser-sign-in.js";
import { signInByDevice } from "./device-sign-in.js";
import type { SignInContext } from "./sign-in.js";

/**
 * Lets a user sign in, and resolves with the tokens. If the registration turns out to be dead, it is replaced, and the sign-in
 * starts once more. Rejects with SIGN_IN_FAILED, TOKEN_REFUSED, and as its steps do.
 */
export async function runSignInFlow(flow: SignInContext, way: "browser" | "device"): Promise<TokenRecord> {
  const { discovery, clients, key, scopes } = flow;
  for (let isSecond = false; ; isSecond = true) {
    const { client, outcome } = await signInBy(flow, way);
    if (outcome.kind === "refused" && outcome.error === "invalid_client" && !isSecond) {
      if (await clients.drop(discovery.server, client)) continue;
    }
    const tokens = tokensOf(outcome);
    return {
      ...tokens,
      clientId: client.clientId,
      resource: discovery.resource,
      requestedScopes: scopes,
      proofKey: key === undefined ? undefined : proofKeyToJson(key),
    };
  }
}

/** Runs the sign-in; errors that are not ours become SIGN_IN_FAILED. */
async function signInBy(flow: SignInContext, way: "browser" | "device"): ReturnType<typeof signInByBrowser> {
  try {
    return await (way === "browser" ? signInByBrowser(flow) : signInByDevice(flow));
  } catch (error) {
    flow.signal.throwIfAborted();
    if (ToolServerError.is(error) || error instanceof TypeError) throw error;
    const why = messageOf(error);
    const parts = { problem: `the sign-in was cancelled: ${why}`, advice: "" };
    throw oauthFailure(flow.context, "SIGN_IN_FAILED", parts, { cause: error });
  }
}
