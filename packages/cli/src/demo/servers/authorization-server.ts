import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { answering } from "./answering.js";
import { consentPage } from "./consent-page.js";

/** An authorization server for the demonstration: whoever presses the button is signed in. */
export interface DemoAuthorizationServer {
  readonly issuer: string;
  /** The permissions of an access token; undefined where it is none, or too old. */
  scopesOf(token: string): readonly string[] | undefined;
  close(): Promise<void>;
}

interface Grant {
  readonly clientId: string;
  readonly scopes: readonly string[];
}

interface Code extends Grant {
  readonly redirectUri: string;
  readonly challenge: string;
}

/** Short, so that a refresh can be watched. */
const lifetimeS = 120;

export async function startAuthorizationServer(): Promise<DemoAuthorizationServer> {
  const clients = new Map<string, readonly string[]>();
  const codes = new Map<string, Code>();
  const access = new Map<string, Grant & { readonly expiresAt: number }>();
  const refresh = new Map<string, Grant>();
  let issuer = "";

  const issueTokens = (grant: Grant): object => {
    const token = random();
    const next = random();
    for (const [old, { expiresAt }] of access) if (expiresAt < Date.now()) access.delete(old);
    access.set(token, { ...grant, expiresAt: Date.now() + lifetimeS * 1000 });
    refresh.set(next, grant);
    const scope = grant.scopes.join(" ");
    return { access_token: token, token_type: "Bearer", expires_in: lifetimeS, refresh_token: next, scope };
  };

  const routes: Readonly<Record<string, (request: IncomingMessage, url: URL) => Promise<Reply>>> = {
    "GET /.well-known/oauth-authorization-server": async () => json(200, metadataOf(issuer)),
    "POST /register": async (request) => {
      const { redirect_uris: uris } = JSON.parse(await text(request));
      const clientId = random();
      clients.set(clientId, uris);
      return json(201, { client_id: clientId, redirect_uris: uris, token_endpoint_auth_method: "none" });
    },
    "GET /authorize": async (_, url) => {
      const refusal = refuseRequest(url, clients);
      if (refusal !== undefined) return json(400, { error: "invalid_request", error_description: refusal });
      return { status: 200, headers: consentPage.headers, body: consentPage.render(url.searchParams) };
    },
    "POST /authorize": async (request, url) => {
      const refusal = refuseRequest(url, clients);
      if (refusal !== undefined) return json(400, { error: "invalid_request", error_description: refusal });
      const { searchParams: asked } = url;
      const answer = new URL(asked.get("redirect_uri") ?? "");
      answer.searchParams.set("state", asked.get("state") ?? "");
      answer.searchParams.set("iss", issuer);
      if (new URLSearchParams(await text(request)).get("decision") !== "allow") {
        answer.searchParams.set("error", "access_denied");
      } else {
        const code = random();
        codes.set(code, {
          clientId: asked.get("client_id") ?? "",
          redirectUri: asked.get("redirect_uri") ?? "",
          challenge: asked.get("code_challenge") ?? "",
          scopes: (asked.get("scope") ?? "notes:read").split(" "),
        });
        answer.searchParams.set("code", code);
      }
      return { status: 303, headers: { location: answer.href }, body: "" };
    },
    "POST /token": async (request) => {
      const form = new URLSearchParams(await text(request));
      const kind = form.get("grant_type");
      const grant = kind === "refresh_token" ? takeRefresh(form, refresh) : takeCode(form, codes);
      return grant === undefined ? json(400, { error: "invalid_grant" }) : json(200, issueTokens(grant));
    },
    "POST /revoke": async (request) => {
      const token = new URLSearchParams(await text(request)).get("token") ?? "";
      access.delete(token);
      refresh.delete(token);
      return json(200, {});
    },
  };

  const server = createServer(
    answering(async (request, response) => {
      const url = new URL(request.url ?? "/", issuer);
      const reply =
        (await routes[`${request.method} ${url.pathname}`]?.(request, url)) ?? json(404, { error: "not_found" });
      send(response, reply);
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    scopesOf(token) {
      const grant = access.get(token);
      return grant !== undefined && grant.expiresAt > Date.now() ? grant.scopes : undefined;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

function json(status: number, value: object): Reply {
  const headers = { "content-type": "application/json", "cache-control": "no-store" };
  return { status, headers, body: JSON.stringify(value) };
}

function send(response: ServerResponse, { status, headers, body }: Reply): void {
  response.writeHead(status, headers).end(body);
}

function metadataOf(issuer: string): object {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/register`,
    revocation_endpoint: `${issuer}/revoke`,
    response_types_supported: ["code"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    authorization_response_iss_parameter_supported: true,
    scopes_supported: ["notes:read", "notes:write"],
  };
}

function refuseRequest(
  { searchParams: asked }: URL,
  clients: ReadonlyMap<string, readonly string[]>,
): string | undefined {
  const uris = clients.get(asked.get("client_id") ?? "");
  if (uris === undefined) return "The client is not known.";
  if (!uris.includes(asked.get("redirect_uri") ?? "")) return "The redirect URI is not one of the client.";
  if (asked.get("code_challenge_method") !== "S256") return "PKCE with S256 is needed.";
  return undefined;
}

function takeCode(form: URLSearchParams, codes: Map<string, Code>): Grant | undefined {
  const code = codes.get(form.get("code") ?? "");
  codes.delete(form.get("code") ?? "");
  if (code === undefined || code.clientId !== form.get("client_id")) return undefined;
  const verifier = createHash("sha256")
    .update(form.get("code_verifier") ?? "")
    .digest("base64url");
  return verifier === code.challenge && code.redirectUri === form.get("redirect_uri") ? code : undefined;
}

/** A refresh token is good once: the next comes with the answer. */
function takeRefresh(form: URLSearchParams, refresh: Map<string, Grant>): Grant | undefined {
  const token = form.get("refresh_token") ?? "";
  const grant = refresh.get(token);
  if (grant === undefined || grant.clientId !== form.get("client_id")) return undefined;
  refresh.delete(token);
  return grant;
}

function random(): string {
  return randomBytes(24).toString("base64url");
}
