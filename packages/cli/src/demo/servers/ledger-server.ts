import { type HttpToolServer, startHttpToolServer } from "./http-tool-server.js";

/** A server that refuses every token, so that there is something to diagnose. */
export function startLedgerServer(): Promise<HttpToolServer> {
  return startHttpToolServer({
    name: "ledger",
    tools: [],
    judge: () => ({
      status: 401,
      challenge: 'Bearer realm="ledger", error="invalid_token", error_description="The token expired."',
    }),
  });
}

/** A token that expired an hour ago. Nobody checks its signature. */
export function expiredToken(): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const now = Math.floor(Date.now() / 1000);
  return `${part({ alg: "HS256" })}.${part({ sub: "demo", iat: now - 7200, exp: now - 3600 })}.c2lnbmF0dXJl`;
}
