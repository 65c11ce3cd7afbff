import type { Interceptor } from "@connectrpc/connect";

/** The header with the administrator's token. MCP clients do not have the token, so they cannot change the gateway. */
export const adminHeader = "wirescope-admin";

/** The tokens of an administration client. */
export interface AdminTokens {
  /** The gateway's token. Default: none is sent. */
  readonly token?: string | undefined;
  /** The administrator's token, for methods that change something. Default: none is sent, and only reading is possible. */
  readonly adminToken?: string | undefined;
}

export function sendTokens({ token, adminToken }: AdminTokens): Interceptor {
  return (next) => (request) => {
    if (token !== undefined) request.header.set("authorization", `Bearer ${token}`);
    if (adminToken !== undefined) request.header.set(adminHeader, adminToken);
    return next(request);
  };
}
