import { randomBytes } from "node:crypto";
import { legacyVersions, RpcError, type RpcRequest, type RpcResponse, rpcCodes } from "@wirescope/tool-server/internal";
import type { Requester } from "../callers/accounts.js";
import { readInitialize, responseOf, type Session } from "../callers/session.js";
import type { EndpointParts } from "./endpoint-parts.js";

/** A session, and the response to the `initialize` that began it. */
export interface BegunSession {
  readonly session: Session;
  readonly response: RpcResponse;
}

/** A new id of a session, which nobody can guess. */
export function newSessionId(): string {
  return randomBytes(24).toString("base64url");
}

/** Begins a session of the older era, in the version that the client asks for if it is spoken, else in the newest. Throws an RpcError. */
export function beginSession(
  { hub, dispatch, limits, accounts, sessions }: EndpointParts,
  requester: Requester,
  { id: requestId, params }: RpcRequest,
  id: string = newSessionId(),
): BegunSession {
  const init = readInitialize(params);
  const account = accounts.create(requester, init.clientInfo);
  dispatch.count(account);
  const isSpoken = legacyVersions.includes(init.requested as (typeof legacyVersions)[number]);
  const protocolVersion = isSpoken ? init.requested : legacyVersions[0];
  const session = sessions.begin({ ...init, id, account, protocolVersion, dispatch, inputMs: limits.inputMs });
  if (session === undefined) {
    const message = `The limit of ${limits.sessions} sessions is reached. Try again later.`;
    throw new RpcError(rpcCodes.failed, message, { status: 503 });
  }
  const { capabilities, info: serverInfo } = hub;
  const result = { protocolVersion, capabilities, serverInfo, instructions: hub.instructions() };
  return { session, response: responseOf(requestId, { result }) };
}
