import { randomBytes } from "node:crypto";
import { legacyVersions, RpcError, type RpcRequest, type RpcResponse, rpcCodes } from "@wirescope/tool-server/internal";
import type { Requester } from "../callers/accounts.js";
import { readInitialize, type Session } from "../callers/session.js";
import { responseOf } from "../callers/session-call.js";
import type { EndpointContext } from "./endpoint-context.js";

/**
 * Starts a session of a legacy client, in the requested version if it is supported, else in the newest. Returns it with the response to
 * `initialize`. Throws an RpcError.
 */
export function beginSession(
  { merged, dispatch, limits, accounts, sessions }: EndpointContext,
  requester: Requester,
  { id: requestId, params }: RpcRequest,
): { readonly session: Session; readonly response: RpcResponse } {
  const init = readInitialize(params);
  const account = accounts.create(requester, init.clientInfo);
  dispatch.count(account);
  const protocolVersion = legacyVersions.includes(init.requested) ? init.requested : legacyVersions[0];
  const { inputMs } = limits;
  // Cannot be guessed.
  const id = randomBytes(24).toString("base64url");
  const forwardNotification = merged.notify;
  const session = sessions.begin({ ...init, id, account, protocolVersion, dispatch, forwardNotification, inputMs });
  if (session === undefined) {
    const message = "Session limit reached. Try again later.";
    throw new RpcError(rpcCodes.failed, message, { status: 503 });
  }
  const capabilities = merged.capabilities("legacy");
  const result = { protocolVersion, capabilities, serverInfo: merged.info, instructions: merged.instructions() };
  return { session, response: responseOf(requestId, { result }) };
}
