import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Quirk } from "./quirk-table.test.helper.js";

/** An authorization server whose manners can be switched off one by one. It rotates refresh tokens and detects their reuse. */
export interface HostileAuthorizationServer {
  readonly origin: string;
  readonly issuer: string;
  /** What is wrong with it, at any moment. */
  readonly quirks: Set<Quirk>;
  /** All requests, in order. */
  readonly requests: readonly LoggedRequest[];
  /** How long access tokens live, in seconds. */
  lifetimeS: number;
  /** The scopes that a token is good for; undefined where it is not. */
  scopesOf(accessToken: string): readonly string[] | undefined;
  /** Ends an access token, as its expiry would. */
  endAccess(accessToken: string): void;
  endAllAccess(): void;
  /** Every token that was ever given. */
  issued(): readonly string[];
  /** Forgets all clients. */
  forgetClients(): void;
  /** Ends all refresh tokens. */
  endRefreshTokens(): void;
  /** Waits before each token is answered; for tests of what happens meanwhile. */
  beforeToken: (() => Promise<void>) | undefined;
  count(path: string, grant?: string): number;
  close(): Promise<void>;
}

export interface LoggedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly form: URLSearchParams;
  readonly json: Readonly<Record<string, unknown>>;
  readonly headers: IncomingMessage["headers"];
}

interface Client {
  readonly redirectUris: readonly string[];
  readonly secret: string | undefined;
}

interface Grant {
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** The access tokens that come from it. */
  readonly accessTokens: Set<string>;
  isEnded: boolean;
}

interface Code {
  readonly grant: Grant;
  readonly challenge: string;
  readonly redirectUri: string;
}

type Answer = readonly [status: number, body: unknown, headers?: Readonly<Record<string, string>>];

export interface HostileOptions {
  readonly quirks?: readonly Quirk[];
  /** The path of its issuer. Default none. */
  readonly path?: string;
  readonly scopes?: readonly string[];
}

export async function startHostileAuthorizationServer(
  options: HostileOptions = {},
): Promise<HostileAuthorizationServer> {
  const quirks = new Set(options.quirks);
  const requests: LoggedRequest[] = [];
  const clients = new Map<string, Client>();
  const codes = new Map<string, Code>();
  const refreshTokens = new Map<string, Grant>();
  const usedTokens = new Map<string, Grant>();
  const access = new Map<string, Grant>();
  const issued: string[] = [];
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const base = options.path ?? "";
  const issuer = `${origin}${base}`;
  const has = (quirk: Quirk): boolean => quirks.has(quirk);

  const self: HostileAuthorizationServer = {
    origin,
    issuer,
    quirks,
    requests,
    lifetimeS: 3600,
    beforeToken: undefined,
    scopesOf: (token) => access.get(token)?.scopes,
    endAccess: (token) => void access.delete(token),
    endAllAccess: () => access.clear(),
    issued: () => issued,
    forgetClients: () => clients.clear(),
    endRefreshTokens() {
      for (const grant of refreshTokens.values()) grant.isEnded = true;
    },
    count: (path, grant) =>
      requests.filter(
        (request) => request.path === path && (grant === undefined || request.form.get("grant_type") === grant),
      ).length,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  const metadata = (): Record<string, unknown> => ({
    issuer: has("metadata-of-another")
      ? "https://honest.example"
      : has("metadata-issuer-slash")
        ? `${issuer}/`
        : issuer,
    authorization_endpoint: has("endpoint-file")
      ? "file:///bin/sh"
      : has("endpoint-shell")
        ? `${origin}/authorize/$(touch%20pwned)`
        : `${origin}/authorize`,
    token_endpoint: has("endpoint-http")
      ? "http://as.example/token"
      : has("endpoint-metadata-service")
        ? "https://169.254.169.254/token"
        : `${origin}/token`,
    device_authorization_endpoint: has("device-http") ? "http://as.example/device" : undefined,
    registration_endpoint: has("registration-absent") ? undefined : `${origin}/register`,
    revocation_endpoint: has("revocation-absent") ? undefined : `${origin}/revoke`,
    scopes_supported: options.scopes ?? ["notes:read", "notes:write", "admin", "offline_access"],
    response_types_supported: ["code"],
    token_endpoint_auth_methods_supported: ["none", "client_secret_basic"],
    code_challenge_methods_supported: has("pkce-absent") ? undefined : has("pkce-plain") ? ["plain"] : ["S256"],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: has("takes-metadata-documents"),
  });

  const answerMetadata = (path: string): Answer | "silence" | "flood" => {
    if (has("metadata-silent")) return "silence";
    if (has("metadata-huge")) return "flood";
    if (has("metadata-failing")) return [503, "down"];
    if (has("metadata-absent")) return [404, "no"];
    if (has("metadata-redirects-away")) return [302, "", { location: "http://127.0.0.2:1/elsewhere" }];
    if (has("metadata-redirects-within")) return [302, "", { location: "/moved" }];
    const isOpenId = path.includes("openid-configuration");
    if (has("metadata-html") && !isOpenId)
      return [200, "<!doctype html><title>Welcome</title>", { "content-type": "text/html" }];
    if (has("metadata-openid-only") && !isOpenId) return [404, "no"];
    return [200, metadata()];
  };

  const clientOf = (clientId: string, redirectUri: string): Client | undefined => {
    if (has("takes-metadata-documents") && clientId.startsWith("https://"))
      return { redirectUris: [redirectUri], secret: undefined };
    return clients.get(clientId);
  };

  const authorize = (query: URLSearchParams): Answer => {
    const client = clientOf(query.get("client_id") ?? "", query.get("redirect_uri") ?? "");
    const redirectUri = query.get("redirect_uri") ?? "";
    if (client === undefined) return [400, "<h1>invalid_client</h1>", { "content-type": "text/html" }];
    if (!client.redirectUris.includes(redirectUri))
      return [400, "<h1>redirect_uri did not match</h1>", { "content-type": "text/html" }];
    const back = new URL(redirectUri);
    const state = query.get("state") ?? "";
    back.searchParams.set("state", has("answer-wrong-state") ? `${state}x` : state);
    const isWrong = has("answer-wrong-issuer") || has("answer-error-wrong-issuer");
    if (!has("answer-issuer-missing")) {
      back.searchParams.set(
        "iss",
        isWrong ? "https://evil.example" : has("answer-issuer-normalized") ? `${issuer}/` : issuer,
      );
    }
    if (has("answer-denied") || has("answer-error-wrong-issuer")) {
      back.searchParams.set("error", "access_denied");
      back.searchParams.set("error_description", "The person said no.");
    } else {
      const grant: Grant = {
        clientId: query.get("client_id") ?? "",
        scopes: (query.get("scope") ?? "").split(" ").filter((scope) => scope !== ""),
        accessTokens: new Set(),
        isEnded: false,
      };
      const code = `code-${randomUUID()}`;
      codes.set(code, { grant, challenge: query.get("code_challenge") ?? "", redirectUri });
      back.searchParams.append("code", code);
      if (has("answer-twice-code")) back.searchParams.append("code", "another");
    }
    return [302, "", { location: back.href }];
  };

  const issue = (grant: Grant, isRotated = true): Answer => {
    const accessToken = `access-${randomUUID()}`;
    const refreshToken = `refresh-${randomUUID()}`;
    issued.push(accessToken, refreshToken);
    access.set(accessToken, grant);
    grant.accessTokens.add(accessToken);
    const hasRefresh = isRotated && !has("token-without-refresh");
    if (hasRefresh) refreshTokens.set(refreshToken, grant);
    const lifetime = has("token-expiry-text") ? String(self.lifetimeS) : self.lifetimeS;
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

  const refresh = (form: URLSearchParams): Answer => {
    const token = form.get("refresh_token") ?? "";
    const words = has("token-echo") ? `The token ${token} is not good.` : undefined;
    if (has("refresh-failing")) return [503, "down"];
    if (has("refresh-html")) return [403, "<h1>Forbidden</h1>", { "content-type": "text/html" }];
    if (has("refresh-dead-unclear")) return [400, { error: "invalid_request", error_description: words }];
    if (has("refresh-dead-in-200")) return [200, { error: "bad_refresh_token" }];
    const reused = usedTokens.get(token);
    if (reused !== undefined) {
      reused.isEnded = true;
      for (const accessToken of reused.accessTokens) access.delete(accessToken);
    }
    const grant = refreshTokens.get(token);
    if (grant === undefined || grant.isEnded) return [400, { error: "invalid_grant", error_description: words }];
    if (has("refresh-keeps-token")) return issue(grant, false);
    refreshTokens.delete(token);
    usedTokens.set(token, grant);
    return issue(grant);
  };

  const token = (request: LoggedRequest): Answer => {
    const { form } = request;
    const clientId = clientIdOf(request);
    if (clientOf(clientId, "") === undefined) return [401, { error: "invalid_client" }];
    if (form.get("grant_type") === "refresh_token") return refresh(form);
    const code = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const isGood =
      code?.challenge === challenge &&
      code.redirectUri === form.get("redirect_uri") &&
      code.grant.clientId === clientId;
    return isGood && code !== undefined ? issue(code.grant) : [400, { error: "invalid_grant" }];
  };

  const register = ({ json }: LoggedRequest): Answer => {
    if (has("registration-absent")) return [404, "no"];
    if (has("registration-refused")) return [400, { error: "invalid_client_metadata", error_description: "Not you." }];
    const clientId = `client-${randomUUID()}`;
    const secret = has("registration-secret") ? `secret-${randomUUID()}` : undefined;
    clients.set(clientId, { redirectUris: json.redirect_uris as string[], secret });
    return [
      201,
      {
        ...json,
        client_id: clientId,
        client_secret: secret,
        token_endpoint_auth_method: secret === undefined ? "none" : "client_secret_basic",
      },
    ];
  };

  const revoke = ({ form }: LoggedRequest): Answer => {
    const given = form.get("token") ?? "";
    const grant = refreshTokens.get(given);
    if (grant !== undefined) {
      grant.isEnded = true;
      for (const accessToken of grant.accessTokens) access.delete(accessToken);
    }
    access.delete(given);
    return [200, ""];
  };

  const route = async (request: LoggedRequest): Promise<Answer | "silence" | "flood"> => {
    const { path, query } = request;
    if (path.includes("/.well-known/")) {
      const isOwn = path.endsWith(base) || path.startsWith(`${base}/.well-known/`);
      return isOwn ? answerMetadata(path) : [404, "no"];
    }
    switch (path) {
      case "/moved":
        return [200, metadata()];
      case "/authorize":
        return authorize(query);
      case "/token": {
        await self.beforeToken?.();
        return token(request);
      }
      case "/register":
        return register(request);
      case "/revoke":
        return revoke(request);
      default:
        return [404, "no"];
    }
  };

  server.on("request", async (incoming: IncomingMessage, response: ServerResponse) => {
    const request = await readRequest(incoming, origin);
    requests.push(request);
    const answer = await route(request);
    if (answer === "silence") return;
    if (answer === "flood") return flood(response);
    const [status, body, headers] = answer;
    const text = typeof body === "string" ? body : JSON.stringify(body);
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
  });
  return self;
}

/** Reads a request whole. */
export async function readRequest(incoming: IncomingMessage, origin: string): Promise<LoggedRequest> {
  const { method = "", url = "", headers } = incoming;
  let body = "";
  for await (const chunk of incoming) body += String(chunk);
  const { pathname, searchParams } = new URL(url, origin);
  const isJson = headers["content-type"]?.startsWith("application/json") ?? false;
  return {
    method,
    path: pathname,
    query: searchParams,
    form: new URLSearchParams(isJson ? "" : body),
    json: isJson ? JSON.parse(body) : {},
    headers,
  };
}

function clientIdOf({ form, headers }: LoggedRequest): string {
  const basic = /^Basic (.+)$/.exec(headers.authorization ?? "")?.[1];
  if (basic === undefined) return form.get("client_id") ?? "";
  return decodeURIComponent(Buffer.from(basic, "base64").toString("utf8").split(":")[0] ?? "");
}

/** Writes until the other side has had enough. */
function flood(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json" });
  const piece = `"${"x".repeat(65_536)}",`;
  const more = (): void => {
    if (!response.destroyed) response.write(piece, () => setImmediate(more));
  };
  response.write("[");
  more();
}
