import { untracked } from "../../../diagnostics.js";
import { ToolServerError } from "../../../errors.js";
import { type OAuthContext, tellEvent } from "../oauth-context.js";
import { isPassingFailure, oauthFailure, peerText } from "../oauth-errors.js";
import {
  type AuthorizationServer,
  legacyAuthorizationServer,
  originIssuers,
  searchAuthorizationServer,
} from "./authorization-server.js";
import { createDiscoveryBudget, type DiscoveryBudget } from "./discovery-budget.js";
import { searchResourceMetadata } from "./resource-metadata.js";

/** How the authorization server of a tool server is looked for. */
export interface DiscoveryRequest {
  /** Each `resource_metadata` of the challenge; they are tried in order. */
  readonly resourceMetadata?: readonly string[] | undefined;
  /** Whether the tool server asked for a sign-in. Default true; else one that names no authorization server has none. */
  readonly isAsked?: boolean | undefined;
  /** The issuer that the user signed in with before: it is used wherever the tool server still names it. */
  readonly knownIssuer?: string | undefined;
  /** The issuer of the configuration: it is used, whatever the tool server names. */
  readonly pinnedIssuer?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Where to sign in to a tool server. */
export interface Discovery {
  readonly server: AuthorizationServer;
  /** What the tokens are for (RFC 8707), as it was published; else the url of the tool server. */
  readonly resource: string;
  /** The permissions for basic use, where the tool server tells them. */
  readonly resourceScopes: readonly string[] | undefined;
  /** Whether the tool server takes only tokens that are bound to a key. */
  readonly bindsTokens: boolean;
  /** The issuer that was known before, where the tool server no longer names it. */
  readonly changedFrom: string | undefined;
}

const mostServers = 4;

/**
 * Finds the authorization server of a tool server, within the limits of a discovery. Of several, the known one is used, else
 * the first that can be. Rejects with AUTHORIZATION_SERVER_INVALID where none can be used, SERVER_UNREACHABLE or SERVER_FAILED for a
 * failure that passes.
 */
export function discover(context: OAuthContext, request: DiscoveryRequest = {}): Promise<Discovery> {
  const { track = untracked } = context;
  return track("discovery", undefined, () => search(context, request));
}

async function search(context: OAuthContext, request: DiscoveryRequest): Promise<Discovery> {
  const { knownIssuer, pinnedIssuer, resourceMetadata, signal, isAsked = true } = request;
  const budget = createDiscoveryBudget(context, signal);
  try {
    const { metadata, isCertain } = await searchResourceMetadata(context, budget, resourceMetadata);
    const published = metadata?.authorizationServers ?? [];
    const named = published.length > 0 ? published : originIssuers(context.url);
    const isKnown = knownIssuer !== undefined && named.includes(knownIssuer);
    const server = await serverOf(context, budget, {
      issuers: pinnedIssuer !== undefined ? [pinnedIssuer] : isKnown ? [knownIssuer] : published,
      // Without a word of the tool server, it is taken for its own authorization server; a failure is not a word.
      mayBeDefault: metadata === undefined && isCertain && isAsked,
    }).catch((error: unknown) => {
      const isOpen = !isAsked && metadata === undefined && pinnedIssuer === undefined && !isKnown;
      throw isOpen && ToolServerError.is(error, "AUTHORIZATION_SERVER_INVALID") ? nothingToSignInTo(context) : error;
    });
    tellEvent(context, "discovered", `The authorization server is ${server.issuer}.`);
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

/** The metadata of a known issuer of this tool server, which is not asked again who its issuer is. */
export function discoverIssuer(
  context: OAuthContext,
  issuer: string,
  signal?: AbortSignal,
): Promise<AuthorizationServer> {
  const { track = untracked } = context;
  return track("discovery", undefined, async () => {
    const budget = createDiscoveryBudget(context, signal);
    try {
      return await serverOf(context, budget, { issuers: [issuer], mayBeDefault: true });
    } finally {
      budget.close();
    }
  });
}

/** The name of a tool server as a resource, where it publishes none: its url, without a slash that says nothing. */
export function resourceOf(url: URL): string {
  const { origin, pathname, search } = url;
  return `${origin}${pathname === "/" && search === "" ? "" : pathname}${search}`;
}

interface ServerChoice {
  /** The issuers to choose from, in order; none where the tool server is to be its own. */
  readonly issuers: readonly string[];
  readonly mayBeDefault: boolean;
}

async function serverOf(
  context: OAuthContext,
  budget: DiscoveryBudget,
  { issuers, mayBeDefault }: ServerChoice,
): Promise<AuthorizationServer> {
  const own = originIssuers(context.url);
  let failure: unknown;
  for (const issuer of issuers.length === 0 ? own.slice(0, 1) : issuers.slice(0, mostServers)) {
    const isOwn = own.includes(issuer);
    try {
      const { server, isAbsent } = await searchAuthorizationServer(
        context,
        budget,
        isOwn && issuers.length === 0 ? own : [issuer],
      );
      if (server !== undefined) return server;
      if (isAbsent && isOwn && mayBeDefault) return legacyAuthorizationServer(context.url);
      failure ??= noMetadata(context, issuer);
    } catch (error) {
      if (!ToolServerError.is(error, "AUTHORIZATION_SERVER_INVALID") && !isPassingFailure(error)) throw error;
      // A failure that passes says more about what to do than one that stays.
      if (failure === undefined || (isPassingFailure(error) && !isPassingFailure(failure))) failure = error;
      if (issuers.length > 1) tellEvent(context, "discovery-skipped", error.message, "warning");
    }
  }
  throw failure;
}

function nothingToSignInTo(context: OAuthContext): ToolServerError {
  return oauthFailure(context, "SIGN_IN_FAILED", {
    problem: "it does not ask who you are, and names no authorization server: there is nothing to sign in to.",
    advice: "Use it as it is.",
  });
}

function noMetadata(context: OAuthContext, issuer: string): ToolServerError {
  return oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", {
    problem: `its authorization server ${JSON.stringify(peerText(context, issuer))} publishes no metadata, neither by RFC 8414 nor by OpenID Connect.`,
    advice: "Ask its operator, or sign in with a token in headers.",
  });
}
