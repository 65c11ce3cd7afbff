import { createHash, randomUUID } from "node:crypto";
import { clientIdOf } from "../authorization-server/client-registry.js";
import {
  type LocalServer,
  type LocalServerOptions,
  type LoggedRequest,
  type QuirkResponse,
  startLocalServer,
} from "../local-server.js";
import { handleMessage } from "../tool-server/hostile-tool-server.js";
import { type Provider, type ProviderDescription, providerTable } from "./provider-table.js";

/** An imitation of a well-known provider and of a tool server behind it: one server for all of their hosts. */
export interface ProviderServer extends LocalServer {
  /** The url of the tool server. It is reachable only through a proxy that connects every host to `origin`. */
  readonly toolUrl: string;
  readonly issuer: string;
  /** Every host that it serves. */
  readonly hosts: readonly string[];
  /** Invalidates all access tokens, as if they had expired. */
  endAllAccess(): void;
}

/** Options of an imitated provider. */
export interface ProviderOptions extends LocalServerOptions {
  readonly provider: Provider;
  /** The certificate for all hosts. */
  readonly tls: NonNullable<LocalServerOptions["tls"]>;
  /** Another host for the issuer, such as a custom domain that clients do not recognize. Default: that of the provider. */
  readonly host?: string | undefined;
}

interface Grant {
  readonly query: URLSearchParams;
  readonly clientId: string;
}

/**
 * Starts an imitation of a provider. It has two clients, `registered-client` and `new-client`, both with the secret `registered-secret`;
 * the user has not consented to the second yet. Rejects if its port is in use.
 */
export async function startProvider(options: ProviderOptions): Promise<ProviderServer> {
  const about: ProviderDescription = providerTable[options.provider];
  const { host = about.host } = options;
  const base = `https://${host}`;
  const at = (path: string): string => (path.startsWith("https://") ? path : `${base}${path}`);
  const tool = new URL(about.tool);
  const issuer = `${base}${about.path}`;
  const clients = new Map<string, string | undefined>([
    ["registered-client", "registered-secret"],
    ["new-client", "registered-secret"],
  ]);
  const codes = new Map<string, Grant>();
  const refreshTokens = new Map<string, Grant>();
  const access = new Map<string, Grant>();
  const served = new Set<string>();

  const metadata = {
    authorization_endpoint: at(about.authorizePath),
    token_endpoint: at(about.tokenPath),
    ...(about.registerPath === undefined ? {} : { registration_endpoint: at(about.registerPath) }),
    response_types_supported: ["code"],
    ...about.metadata(base),
  };

  const authorize = ({ query }: LoggedRequest): QuirkResponse => {
    const clientId = query.get("client_id") ?? "";
    if (!clients.has(clientId)) return [400, "<h1>The client does not exist.</h1>", { "content-type": "text/html" }];
    const back = new URL(query.get("redirect_uri") ?? "");
    back.searchParams.set("state", query.get("state") ?? "");
    const refused = about.refuse?.(query);
    if (refused === undefined) {
      const code = `code-${randomUUID()}`;
      codes.set(code, { query, clientId });
      back.searchParams.set("code", code);
    } else {
      back.searchParams.set("error", refused[0]);
      back.searchParams.set("error_description", refused[1]);
    }
    return [302, "", { location: back.href }];
  };

  const refusal = (error: string, description?: string): QuirkResponse => [
    about.refusalStatus ?? 400,
    { ...(about.refusalStatus === 200 ? { ok: false } : {}), error, error_description: description },
  ];

  const issue = (grant: Grant): QuirkResponse => {
    const accessToken = `access-${randomUUID()}`;
    access.set(accessToken, grant);
    const refreshToken = `refresh-${randomUUID()}`;
    const isRepeated = served.has(grant.clientId);
    served.add(grant.clientId);
    const refreshes = about.refreshes({ query: grant.query, isRepeated });
    if (refreshes) refreshTokens.set(refreshToken, grant);
    return [
      200,
      {
        ok: true,
        access_token: accessToken,
        token_type: about.tokenType ?? "Bearer",
        scope: grant.query.get("scope") ?? undefined,
        ...(refreshes ? { refresh_token: refreshToken, expires_in: 3600 } : {}),
      },
    ];
  };

  const token = (request: LoggedRequest): QuirkResponse => {
    const { form, headers } = request;
    const clientId = clientIdOf(request);
    if (!clients.has(clientId)) return refusal("invalid_client");
    const basic = Buffer.from(/^Basic (.+)$/.exec(headers.authorization ?? "")?.[1] ?? "", "base64").toString("utf8");
    const secrets = [form.get("client_secret"), ...(about.secret === "body" ? [] : [basic.split(":")[1]])];
    if (about.secret !== undefined && !secrets.includes(clients.get(clientId))) {
      return refusal("invalid_client", "The client secret is missing or wrong.");
    }
    const refused = about.refuseToken?.(request);
    if (refused !== undefined) return refusal(...refused);
    if (form.get("grant_type") === "refresh_token") {
      const grant = refreshTokens.get(form.get("refresh_token") ?? "");
      return grant === undefined ? refusal("invalid_grant") : issue(grant);
    }
    const code = form.get("code") ?? "";
    const grant = codes.get(code);
    codes.delete(code);
    const verifier = form.get("code_verifier") ?? "";
    const challenge = createHash("sha256").update(verifier).digest("base64url");
    const isValid = grant?.clientId === clientId && grant.query.get("code_challenge") === challenge;
    return isValid && grant !== undefined ? issue(grant) : refusal("invalid_grant");
  };

  const register = ({ json }: LoggedRequest): QuirkResponse => {
    if (!about.isRegistrationOpen) return [403, { errorCode: "E0000006", errorSummary: "Not permitted." }];
    const clientId = `client-${randomUUID()}`;
    clients.set(clientId, undefined);
    return [201, { ...json, client_id: clientId, token_endpoint_auth_method: "none" }];
  };

  const resource = (request: LoggedRequest): QuirkResponse => {
    const given = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
    const grant = access.get(given);
    if (grant !== undefined && (about.isForTool?.(grant.query) ?? true)) return handleMessage(request, scopesOf(grant));
    const metadataUrl = `${tool.origin}/.well-known/oauth-protected-resource${tool.pathname}`;
    const problem = given === "" ? "" : ', error="invalid_token", error_description="The token is not for this API."';
    const challenge = `Bearer resource_metadata="${metadataUrl}", scope="${about.challengedScope}"${problem}`;
    return [401, "", { "www-authenticate": challenge }];
  };

  const respond = (request: LoggedRequest): QuirkResponse => {
    const { path, headers, method } = request;
    const url = `https://${headers.host}${path}`;
    if (url === `${tool.origin}${tool.pathname}`) return resource(request);
    if (url === `${tool.origin}/.well-known/oauth-protected-resource${tool.pathname}`) {
      return [200, { resource: about.tool, authorization_servers: [issuer] }];
    }
    if (headers.host === host && about.metadataPaths.includes(path)) return [200, metadata];
    if (url === at(about.authorizePath) && method === "GET") return authorize(request);
    if (url === at(about.tokenPath) && method === "POST") return token(request);
    if (about.registerPath !== undefined && url === at(about.registerPath)) return register(request);
    return [404, "no"];
  };

  const server = await startLocalServer(options, respond);
  const urls = [base, tool.href, at(about.authorizePath), at(about.tokenPath)];
  return {
    ...server,
    toolUrl: tool.href,
    issuer,
    hosts: [...new Set(urls.map((url) => new URL(url).host))],
    endAllAccess: () => access.clear(),
  };
}

function scopesOf({ query }: Grant): string[] {
  return (query.get("scope") ?? "").split(" ").filter((scope) => scope !== "");
}
