import { parseUrl } from "../../../url.js";
import type { LoginSettings } from "../oauth-context.js";

/** How an authorization server differs from the specification, as its operator documents it. */
interface KnownIssuer {
  readonly name: string;
  /** PKCE with S256 works, although the metadata may not list it. */
  readonly hasPkce?: boolean;
  /** It rejects the `resource` parameter (RFC 8707): the scopes alone name the resource. */
  readonly rejectsResource?: boolean;
  /** Parameters of its authorization requests. A setting of the user takes precedence. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** How clients with a secret authenticate, if the metadata does not say so. */
  readonly authentication?: "client_secret_post";
  /** The host of redirect URIs that may have any port. */
  readonly callbackHost?: "localhost";
  /** Other origins that its sign-in page may be at. */
  readonly pages?: readonly string[];
  /** Other issuers that its metadata may name, instead of the one whose metadata it is. */
  readonly publishes?: RegExp;
  /** Values of `token_type` that mean Bearer. */
  readonly bearerTypes?: readonly string[];
}

interface KnownIssuerRow extends KnownIssuer {
  readonly hosts: RegExp;
  readonly path?: RegExp;
}

const rows: readonly KnownIssuerRow[] = [
  {
    name: "Microsoft Entra ID",
    hosts: /^login\.(?:microsoftonline\.com|microsoftonline\.us|partner\.microsoftonline\.cn)$/,
    path: /^\/[^/]+\/v2\.0\/?$/,
    hasPkce: true,
    rejectsResource: true,
    callbackHost: "localhost",
    // The metadata of `common`, `organizations` and domain names contains the tenant's id, or a placeholder for it.
    publishes: /^https:\/\/login\.[a-z.]+\/(?:[0-9a-f-]{36}|\{tenantid\})\/v2\.0$/,
  },
  { name: "Google", hosts: /^accounts\.google\.com$/, parameters: { access_type: "offline" } },
  { name: "Auth0", hosts: /^[a-z0-9-]+(?:\.[a-z]{2}(?:-\d)?)?\.auth0\.com$/ },
  { name: "Okta", hosts: /^[a-z0-9-]+\.(?:okta|oktapreview|okta-emea)\.com$/ },
  {
    name: "GitHub",
    hosts: /^github\.com$/,
    path: /^\/login\/oauth\/?$/,
    hasPkce: true,
    authentication: "client_secret_post",
  },
  {
    name: "Slack",
    hosts: /^(?:mcp\.)?slack\.com$/,
    pages: ["https://slack.com"],
    publishes: /^https:\/\/slack\.com$/,
    bearerTypes: ["user"],
  },
  {
    name: "Atlassian",
    hosts: /^(?:mcp|cf\.mcp|auth)\.atlassian\.com$/,
    pages: ["https://mcp.atlassian.com", "https://cf.mcp.atlassian.com", "https://auth.atlassian.com"],
    publishes: /^https:\/\/(?:mcp|cf\.mcp|auth)\.atlassian\.com$/,
  },
];

/**
 * Returns what is known about an issuer, by its host. The metadata is read from that host over TLS, so no other server can claim to be it.
 * Undefined for any other issuer.
 */
export function knownIssuer(issuer: string): KnownIssuer | undefined {
  const url = parseUrl(issuer);
  if (url === undefined || url.protocol !== "https:" || url.port !== "" || url.username !== "") return undefined;
  return rows.find(({ hosts, path }) => hosts.test(url.hostname) && (path?.test(url.pathname) ?? true));
}

/** How the requests to an authorization server are built. */
export interface RequestRules {
  /** The resource of the token (RFC 8707); undefined to send none. */
  readonly resource: string | undefined;
  readonly usesPkce: boolean;
  readonly parameters: Readonly<Record<string, string>>;
}

/** The rules for requests to a server, for the resource that the tool server publishes. Settings take precedence over the table of known issuers. */
export function requestRules(
  { issuer, offersPkce }: { readonly issuer: string; readonly offersPkce: boolean },
  resource: string,
  settings: LoginSettings,
): RequestRules {
  const { hasPkce = false, rejectsResource = false, parameters } = knownIssuer(issuer) ?? {};
  const sent = settings.resource ?? (rejectsResource ? false : resource);
  return {
    resource: sent === false ? undefined : sent,
    usesPkce: offersPkce || hasPkce || settings.assumePkce === true,
    parameters: { ...parameters, ...settings.authorizeParameters },
  };
}
