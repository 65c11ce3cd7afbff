import { createHash, randomUUID } from "node:crypto";
import type { LoggedRequest, QuirkResponse } from "../local-server.js";
import type { Quirk } from "../quirk-table.js";

/** What the user granted a client, and the access tokens issued for it. */
export interface Grant {
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly accessTokens: Set<string>;
  isEnded: boolean;
}

/** A code that has not been exchanged yet. */
export interface PendingCode {
  readonly grant: Grant;
  readonly challenge: string;
  readonly redirectUri: string;
}

/** The codes and tokens of an authorization server. Refresh tokens rotate, and the reuse of one revokes its grant. */
export interface TokenStore {
  /** Every token that was ever issued. */
  readonly issued: readonly string[];
  storeCode(pending: PendingCode): string;
  /** The response to a code; undefined if it is not valid. */
  exchange(form: URLSearchParams, clientId: string): QuirkResponse | undefined;
  refresh(form: URLSearchParams): QuirkResponse;
  revoke(form: URLSearchParams): void;
  /** The scopes of a token; undefined if the token is not valid. */
  scopesOf(accessToken: string): readonly string[] | undefined;
  endAccess(accessToken: string): void;
  endAllAccess(): void;
  endRefreshTokens(): void;
}

/** How many requests a token is valid for with the quirk token-ends-early. */
const earlyUses = 5;

export function createTokenStore(quirks: ReadonlySet<Quirk>, lifetimeS: () => number): TokenStore {
  const codes = new Map<string, PendingCode>();
  const refreshTokens = new Map<string, Grant>();
  const usedTokens = new Map<string, Grant>();
  const access = new Map<string, { readonly grant: Grant; readonly endsAt: number; uses: number }>();
  const issued: string[] = [];
  const has = (quirk: Quirk): boolean => quirks.has(quirk);

  const endGrant = (grant: Grant): void => {
    grant.isEnded = true;
    for (const accessToken of grant.accessTokens) access.delete(accessToken);
  };

  const issue = (grant: Grant, isRotated = true): QuirkResponse => {
    const accessToken = `access-${randomUUID()}`;
    const refreshToken = `refresh-${randomUUID()}`;
    issued.push(accessToken, refreshToken);
    access.set(accessToken, { grant, endsAt: Date.now() + lifetimeS() * 1000, uses: 0 });
    grant.accessTokens.add(accessToken);
    const hasRefresh = isRotated && !has("token-without-refresh");
    if (hasRefresh) refreshTokens.set(refreshToken, grant);
    const lifetime = has("token-expiry-text") ? String(lifetimeS()) : lifetimeS();
    return [
      200,
      {
        access_token: accessToken,
        token_type: "bearer",
        expires_in: has("token-expiry-unknown") ? undefined : lifetime,
        refresh_token: hasRefresh ? refreshToken : undefined,
        scope: grant.scopes.join(" "),
      },
    ];
  };

  return {
    issued,
    storeCode(pending) {
      const code = `code-${randomUUID()}`;
      codes.set(code, pending);
      return code;
    },
    exchange(form, clientId) {
      const text = form.get("code") ?? "";
      const code = codes.get(text);
      codes.delete(text);
      const challenge = createHash("sha256")
        .update(form.get("code_verifier") ?? "")
        .digest("base64url");
      const isValid =
        code?.challenge === challenge &&
        code.redirectUri === form.get("redirect_uri") &&
        code.grant.clientId === clientId;
      return isValid && code !== undefined ? issue(code.grant) : undefined;
    },
    refresh(form) {
      const token = form.get("refresh_token") ?? "";
      const description = has("token-echo") ? `The token ${token} is not valid.` : undefined;
      if (has("refresh-failing")) return [503, "down"];
      if (has("refresh-html")) return [403, "<h1>Forbidden</h1>", { "content-type": "text/html" }];
      if (has("refresh-dead-unclear")) return [400, { error: "invalid_request", error_description: description }];
      if (has("refresh-dead-in-200")) return [200, { error: "bad_refresh_token" }];
      const reused = usedTokens.get(token);
      if (reused !== undefined) endGrant(reused);
      const grant = refreshTokens.get(token);
      if (grant === undefined || grant.isEnded || has("refresh-dead")) {
        return [400, { error: "invalid_grant", error_description: description }];
      }
      if (has("refresh-keeps-token")) return issue(grant, false);
      refreshTokens.delete(token);
      usedTokens.set(token, grant);
      return issue(grant);
    },
    revoke(form) {
      const token = form.get("token") ?? "";
      const grant = refreshTokens.get(token);
      if (grant !== undefined) endGrant(grant);
      access.delete(token);
    },
    scopesOf(accessToken) {
      const found = access.get(accessToken);
      if (found === undefined || Date.now() >= found.endsAt) return undefined;
      found.uses += 1;
      return has("token-ends-early") && found.uses > earlyUses ? undefined : found.grant.scopes;
    },
    endAccess: (token) => void access.delete(token),
    endAllAccess: () => access.clear(),
    endRefreshTokens() {
      for (const grant of refreshTokens.values()) grant.isEnded = true;
    },
  };
}

/** The grant of an authorization request. */
export function grantOf({ query }: LoggedRequest): Grant {
  return {
    clientId: query.get("client_id") ?? "",
    scopes: (query.get("scope") ?? "").split(" ").filter((scope) => scope !== ""),
    accessTokens: new Set(),
    isEnded: false,
  };
}
