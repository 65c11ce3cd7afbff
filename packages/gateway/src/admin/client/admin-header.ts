import type { Interceptor } from "@connectrpc/connect";

/** The header with the administrator's token: clients of the endpoint have the other one, and are not to change what they use. */
export const adminHeader = "wirescope-admin";

/** What a caller of the administration says of itself. */
export interface AdminTokens {
  /** The token of the gateway. Default: none is sent. */
  readonly token?: string | undefined;
  /** The administrator's, to change something. Default: none is sent, and it can be looked at alone. */
  readonly adminToken?: string | undefined;
}

/** Sends the tokens with every request. */
export function sendTokens({ token, adminToken }: AdminTokens): Interceptor {
  return (next) => (request) => {
    if (token !== undefined) request.header.set("authorization", `Bearer ${token}`);
    if (adminToken !== undefined) request.header.set(adminHeader, adminToken);
    return next(request);
  };
}
