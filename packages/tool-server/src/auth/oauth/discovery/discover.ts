import { ToolServerError } from "../../../errors.js";
import type { OAuthContext } from "../oauth-context.js";
import { isTransientFailure, oauthFailure, peerText } from "../oauth-errors.js";
import {
  type AuthorizationServer,
  legacyAuthorizationServer,
  originIssuers,
  searchAuthorizationServer,
} from "./authorization-server.js";
import { createDiscoveryBudget, type DiscoveryBudget } from "./discovery-budget.js";
import { searchResourceMetadata } from "./resource-metadata.js";

/** Options of a discovery. */
export interface DiscoveryRequest {
  /** Each `resource_metadata` of the challenge; they are tried in order. */
  readonly resourceMetadata?: readonly string[] | undefined;
  /** Whether the tool server requires a sign-in. Default true; otherwise a server that names no authorization server has none. */
  readonly isSignInRequired?: boolean | undefined;
  /** The issuer of the last sign-in: used as long as the tool server still names it. */
  readonly knownIssuer?: string | undefined;
  /** The configured issuer: used regardless of what the tool server names. */
  readonly pinnedIssuer?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Where to sign in to a tool server. */
export interface Discovery {
  readonly server: AuthorizationServer;
  /** The resource of the tokens (RFC 8707), as published; otherwise the url of the tool server. */
  readonly resource: string;
  /** The scopes for basic use, if the tool server publishes them. */
  readonly resourceScopes: readonly string[] | undefined;
  /** Whether the tool server accepts only tokens that are bound to a key (DPoP). */
  readonly bindsTokens: boolean;
  /** The previous issuer, if the tool server no longer names it. */
  readonly changedFrom: string | undefined;
}

const maxServers = 4;

/**
 * Finds the authorization server of a tool server, within the limits of a discovery. If there are several, uses the known one, otherwise
 * the first usable one. Rejects with AUTHORIZATION_SERVER_INVALID if none is usable, or with SERVER_UNREACHABLE or SERVER_FAILED for a
 * transient failure.
 */
export function discover(context: OAuthContext, request: DiscoveryRequest = {}): Promise<Discovery> {
  return context.log.run("discovery", undefined, () => search(context, request));
}

async function search(context: OAuthContext, request: DiscoveryRequest): Promise<Discovery> {
  const { knownIssuer, pinnedIssuer, resourceMetadata, signal, isSignInRequired = true } = request;
  const budget = createDiscoveryBudget(context, signal);
  try {
    const { metadata, isCertain } = await searchResourceMetadata(context, budget, resourceMetadata);
    const published = metadata?.authorizationServers ?? [];
    const named = published.length > 0 ? published : originIssuers(context.url);
    const isKnown = knownIssuer !== undefined && named.includes(knownIssuer);
    const server = await serverOf(context, budget, {
      issuers: pinnedIssuer !== undefined ? [pinnedIssuer] : isKnown ? [knownIssuer] : published,
      // A tool server that publishes nothing is its own authorization server; a failure to read does not count as nothing.
      mayBeDefault: metadata === undefined && isCertain && isSignInRequired,
    }).catch((error: unknown) => {
      const isPublic = !isSignInRequired && metadata === undefined && pinnedIssuer === undefined && !isKnown;
      throw isPublic && ToolServerError.is(error, "AUTHORIZATION_SERVER_INVALID") ? signInNotRequired(context) : error;
    });
    const { issuer, publishedIssuer } = server;
    const isSame = issuer === publishedIssuer;
    const note = isSame ? "" : ` Its metadata names the issuer ${publishedIssuer}; this difference is accepted.`;
    context.log.note("discovered", `The authorization server is ${issuer}.${note}`, isSame ? "info" : "warning");
    return {
      server,
      resource: metadata?.resource ?? resourceOf(context.url),
      resourceScopes: metadata?.scopes,
      bindsTokens: metadata?.bindsTokens ?? false,
      changedFrom: knownIssuer !== undefined && knownIssuer !== server.issuer ? knownIssuer : undefined,
    };
  } finally {
    budget.close();
  }
}

/**
 * Discovers the metadata of a known issuer, without requesting the tool server's metadata again. If it had metadata before
 * (`wasPublished`), its absence is a transient failure: its secrets are not for the default endpoints.
 */
export function discoverIssuer(
  context: OAuthContext,
  issuer: string,
  wasPublished = false,
): Promise<AuthorizationServer> {
  return context.log.run("discovery", undefined, async () => {
    const budget = createDiscoveryBudget(context);
    try {
      return await serverOf(context, budget, { issuers: [issuer], mayBeDefault: !wasPublished, wasPublished });
    } finally {
      budget.close();
    }
  });
}

/** Discovers the metadata of an identity provider, whose issuer is the url. */
export async function discoverProvider(context: OAuthContext): Promise<Discovery> {
  const server = await discoverIssuer(context, context.settings.issuer ?? context.url.href, true);
  return { server, resource: server.issuer, resourceScopes: undefined, bindsTokens: false, changedFrom: undefined };
}

/** The resource identifier of a tool server that publishes none: its url, without a trailing slash. */
export function resourceOf(url: URL): string {
  const { origin, pathname, search } = url;
  return `${origin}${pathname === "/" && search === "" ? "" : pathname}${search}`;
}

interface ServerChoice {
  /** The issuers to choose from, in order; empty if the tool server is its own. */
  readonly issuers: readonly string[];
  readonly mayBeDefault: boolean;
  /** Whether it had metadata at the last sign-in. Default false. */
  readonly wasPublished?: boolean | undefined;
}

async function serverOf(
  context: OAuthContext,
  budget: DiscoveryBudget,
  { issuers, mayBeDefault, wasPublished = false }: ServerChoice,
): Promise<AuthorizationServer> {
  const own = originIssuers(context.url);
  let failure: unknown;
  for (const issuer of issuers.length === 0 ? own.slice(0, 1) : issuers.slice(0, maxServers)) {
    const isOwn = own.includes(issuer);
    try {
      const { server, isAbsent } = await searchAuthorizationServer(
        context,
        budget,
        isOwn && issuers.length === 0 ? own : [issuer],
      );
      if (server !== undefined) return server;
      if (isAbsent && isOwn && mayBeDefault) return legacyAuthorizationServer(context.url);
      failure ??= wasPublished ? metadataGone(context, issuer) : noMetadata(context, issuer);
    } catch (error) {
      if (!ToolServerError.is(error, "AUTHORIZATION_SERVER_INVALID") && !isTransientFailure(error)) throw error;
      // A transient failure says more about what to do than a permanent one.
      if (failure === undefined || (isTransientFailure(error) && !isTransientFailure(failure))) failure = error;
    }
  }
  throw failure;
}

function signInNotRequired(context: OAuthContext): ToolServerError {
  return oauthFailure(context, "SIGN_IN_FAILED", {
    problem: "it requires no sign-in, and names no authorization server.",
    advice: "Use it without signing in.",
  });
}

function noMetadata(context: OAuthContext, issuer: string): ToolServerError {
  return oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", {
    problem: `its authorization server ${JSON.stringify(peerText(context, issuer))} publishes no metadata (RFC 8414 or OpenID Connect).`,
    advice: "Ask its operator, or configure a token in headers.",
  });
}

function metadataGone(context: OAuthContext, issuer: string): ToolServerError {
  return oauthFailure(context, "SERVER_FAILED", {
    problem: `its authorization server ${JSON.stringify(peerText(context, issuer))} does not publish its metadata any more, so the endpoint that renews tokens is unknown.`,
    advice: "Try again later. If it stays so, ask its operator.",
  });
}
