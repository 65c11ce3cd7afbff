import type { LoggedRequest } from "../local-server.js";

/** An OAuth error, as a provider sends it. */
export type ProviderError = readonly [error: string, description: string];

/** An authorization request that was granted. */
export interface ProviderGrant {
  readonly query: URLSearchParams;
  /** Whether the client got tokens before. */
  readonly isRepeated: boolean;
}

/** How a well-known provider differs from the specifications, according to its documentation and its users. */
export interface ProviderDescription {
  /** The host of the issuer in the metadata of tool servers. */
  readonly host: string;
  /** The url of a tool server behind it. */
  readonly tool: string;
  /** The path of the issuer. */
  readonly path: string;
  /** The paths at which the metadata is published. */
  readonly metadataPaths: readonly string[];
  /** The metadata, apart from endpoints, for the named issuer at this origin. */
  metadata(origin: string): Readonly<Record<string, unknown>>;
  /** Paths of the endpoints; a path on another host starts with `https://`. */
  readonly authorizePath: string;
  readonly tokenPath: string;
  readonly registerPath?: string;
  readonly challengedScope: string;
  /** Whether the token endpoint requires the secret of the client, in the body. */
  readonly secret?: "any" | "body";
  /** Whether registration works without a credential. */
  readonly isRegistrationOpen?: boolean;
  refuse?(query: URLSearchParams): ProviderError | undefined;
  /** Why the token endpoint refuses a form; undefined if it does not. */
  refuseToken?(request: LoggedRequest): ProviderError | undefined;
  /** Whether a refresh token is issued. */
  refreshes(grant: ProviderGrant): boolean;
  /** Whether the tool server accepts the token of a grant. */
  isForTool?(query: URLSearchParams): boolean;
  readonly tokenType?: string;
  /** The status of refusals of the token endpoint. Default 400. */
  readonly refusalStatus?: number;
}

const entraTenant = "11111111-2222-3333-4444-555555555555";
const api = "api://3f0c1111-2222-3333-4444-555555555555";
const openId = ["openid", "profile", "email", "offline_access"];
const scopesOf = (query: URLSearchParams): string[] => (query.get("scope") ?? "").split(" ").filter(Boolean);

const mismatch: ProviderError = [
  "invalid_target",
  "AADSTS9010010: The resource parameter provided in the request doesn't match with the requested scopes. Trace ID: 0b1c Correlation ID: 5d6e",
];

/** The name of a provider. */
export type Provider = "entra" | "google" | "auth0" | "okta" | "github" | "slack" | "atlassian";

/** Well-known providers. Facts and their sources are in docs/oauth.md. */
export const providerTable: Readonly<Record<Provider, ProviderDescription>> = {
  entra: {
    host: "login.microsoftonline.com",
    tool: "https://tools.example.com/mcp",
    path: `/${entraTenant}/v2.0`,
    metadataPaths: [`/${entraTenant}/v2.0/.well-known/openid-configuration`],
    metadata: (origin) => ({
      issuer: `${origin}/${entraTenant}/v2.0`,
      scopes_supported: openId,
      token_endpoint_auth_methods_supported: ["client_secret_post", "private_key_jwt", "client_secret_basic"],
    }),
    authorizePath: `/${entraTenant}/oauth2/v2.0/authorize`,
    tokenPath: `/${entraTenant}/oauth2/v2.0/token`,
    challengedScope: `${api}/mcp.tools`,
    refuse(query) {
      if (query.has("resource")) {
        if (scopesOf(query).length > 0) return mismatch;
        return ["invalid_request", "AADSTS901002: The 'resource' request parameter is not supported."];
      }
      const foreign = scopesOf(query).find((scope) => !openId.includes(scope) && !scope.startsWith(`${api}/`));
      if (foreign !== undefined) {
        const graph = "00000003-0000-0000-c000-000000000000";
        const text = `The application 'Wirescope' asked for scope '${foreign}' that doesn't exist on the resource '${graph}'.`;
        return ["invalid_client", `AADSTS650053: ${text}`];
      }
      if (query.get("client_id") === "new-client" && query.get("prompt") !== "consent") {
        const text = "The user or administrator has not consented to use the application with ID '3f0c'.";
        return ["consent_required", `AADSTS65001: ${text}`];
      }
      if (query.get("client_id") === "new-client") return undefined;
      // An administrator has consented for all users; users may not consent themselves.
      if (query.get("prompt") === "consent") {
        return ["access_denied", "AADSTS90094: The grant requires admin permission."];
      }
      if (query.get("code_challenge_method") !== "S256") return ["invalid_request", "AADSTS9002325: PKCE is required."];
      return query.get("redirect_uri")?.startsWith("http://localhost:")
        ? undefined
        : ["invalid_request", "AADSTS50011: The redirect URI specified in the request does not match."];
    },
    refuseToken: ({ form }) => (form.has("resource") ? mismatch : undefined),
    refreshes: ({ query }) => scopesOf(query).includes("offline_access"),
    isForTool: (query) => scopesOf(query).includes(`${api}/mcp.tools`),
  },
  google: {
    host: "accounts.google.com",
    tool: "https://bigquery.example.com/mcp",
    path: "",
    metadataPaths: ["/.well-known/openid-configuration"],
    metadata: (origin) => ({
      issuer: origin,
      scopes_supported: ["openid", "email", "profile"],
      code_challenge_methods_supported: ["plain", "S256"],
      token_endpoint_auth_methods_supported: ["client_secret_post", "client_secret_basic"],
    }),
    authorizePath: "/o/oauth2/v2/auth",
    tokenPath: "https://oauth2.googleapis.com/token",
    challengedScope: "https://www.googleapis.com/auth/bigquery",
    secret: "any",
    // Google shows the reason only on its page: the app is in testing, and the account is not a tester.
    refuse: (query) => (query.get("client_id") === "new-client" ? ["access_denied", ""] : undefined),
    refreshes: ({ query, isRepeated }) =>
      query.get("access_type") === "offline" && (!isRepeated || query.get("prompt") === "consent"),
  },
  auth0: {
    host: "acme.us.auth0.com",
    tool: "https://tools.example.com/mcp",
    path: "/",
    metadataPaths: ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"],
    metadata: (origin) => ({
      issuer: `${origin}/`,
      scopes_supported: ["openid", "profile", "offline_access", "email"],
      code_challenge_methods_supported: ["S256", "plain"],
    }),
    authorizePath: "/authorize",
    tokenPath: "/oauth/token",
    registerPath: "/oidc/register",
    challengedScope: "notes:read",
    refuse(query) {
      const audience = query.get("audience");
      if (audience === null || audience === "https://tools.example.com/mcp") return undefined;
      return ["access_denied", `Service not found: ${audience}`];
    },
    refreshes: ({ query }) => scopesOf(query).includes("offline_access"),
    // Without an audience, the token is an opaque one for the userinfo endpoint.
    isForTool: (query) => query.get("audience") === "https://tools.example.com/mcp",
  },
  okta: {
    host: "acme.okta.com",
    tool: "https://tools.example.com/mcp",
    path: "/oauth2/default",
    metadataPaths: [
      "/oauth2/default/.well-known/openid-configuration",
      "/.well-known/oauth-authorization-server/oauth2/default",
    ],
    metadata: (origin) => ({
      issuer: `${origin}/oauth2/default`,
      scopes_supported: ["openid", "notes:read", "offline_access"],
      code_challenge_methods_supported: ["S256"],
    }),
    authorizePath: "/oauth2/default/v1/authorize",
    tokenPath: "/oauth2/default/v1/token",
    registerPath: "/oauth2/v1/clients",
    challengedScope: "notes:read",
    refreshes: ({ query }) => scopesOf(query).includes("offline_access"),
  },
  github: {
    host: "github.com",
    tool: "https://api.githubcopilot.example/mcp/",
    path: "/login/oauth",
    metadataPaths: ["/login/oauth/.well-known/openid-configuration"],
    metadata: (origin) => ({ issuer: `${origin}/login/oauth` }),
    authorizePath: "/login/oauth/authorize",
    tokenPath: "/login/oauth/access_token",
    challengedScope: "repo",
    secret: "body",
    refreshes: () => false,
    refusalStatus: 200,
  },
  slack: {
    host: "mcp.slack.com",
    tool: "https://mcp.slack.com/mcp",
    path: "",
    metadataPaths: ["/.well-known/oauth-authorization-server"],
    metadata: (origin) => ({
      issuer: origin.replace("mcp.", ""),
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["client_secret_post", "none"],
    }),
    authorizePath: "https://slack.com/oauth/v2_user/authorize",
    tokenPath: "https://slack.com/api/oauth.v2.user.access",
    challengedScope: "search:read.public",
    refuse: (query) => (query.has("scope") ? undefined : ["invalid_scope", "No scopes requested"]),
    refreshes: () => false,
    tokenType: "user",
    refusalStatus: 200,
  },
  atlassian: {
    host: "auth.atlassian.com",
    tool: "https://mcp.atlassian.com/v1/mcp",
    path: "/VCeDsk8ZHncYF1g2",
    metadataPaths: ["/.well-known/oauth-authorization-server/VCeDsk8ZHncYF1g2"],
    metadata: (origin) => ({
      issuer: origin,
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none", "client_secret_post"],
    }),
    authorizePath: "/VCeDsk8ZHncYF1g2/authorize",
    tokenPath: "/VCeDsk8ZHncYF1g2/oauth/token",
    registerPath: "/VCeDsk8ZHncYF1g2/register",
    isRegistrationOpen: true,
    challengedScope: "read:jira-work",
    refreshes: () => true,
  },
};
