import { ToolServerError } from "../../../errors.js";
import type { HttpRequest } from "../../../http/http-client.js";
import type { JsonObject } from "../../../json-object.js";
import { isRefusal } from "../../credentials/credential.js";
import type { OAuthContext } from "../oauth-context.js";
import { isTransientFailure, oauthFailure, peerText, urlText } from "../oauth-errors.js";
import { parseEndpoint } from "../requests/endpoint-rules.js";
import {
  type AuthorizationServer,
  describeServer,
  legacyAuthorizationServer,
  type PublishedServer,
  parseAuthorizationServer,
  parseResourceMetadata,
  type ReadMetadata,
  type ResourceMetadata,
  resourceMetadataUrls,
  serverMetadataUrls,
  withinDiscoveryLimits,
} from "./metadata.js";
import { parseResourceChallenge, type ResourceChallenge } from "./resource-challenge.js";

/** Options of a discovery. */
export interface DiscoveryRequest {
  /** What is known of the challenge of the tool server. Default: found out with a request without a token. */
  readonly challenge?: Partial<ResourceChallenge> | undefined;
  /** The issuer of the last sign-in: used as long as the tool server still names it. */
  readonly knownIssuer?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Where to sign in to a tool server. */
export interface Discovery {
  readonly server: AuthorizationServer;
  readonly failure?: undefined;
  readonly challenge: ResourceChallenge;
  /** The resource of the tokens (RFC 8707), as published; otherwise the url of the tool server. */
  readonly resource: string;
  /** The scopes for basic use, if the tool server publishes them. */
  readonly resourceScopes: readonly string[] | undefined;
  /** Whether the tool server accepts only tokens that are bound to a key (DPoP). */
  readonly bindsTokens: boolean;
  /** The previous issuer, if the tool server no longer names it. */
  readonly changedFrom: string | undefined;
  /** Every document that was tried, in order. */
  readonly attempts: readonly DiscoveryAttempt[];
}

/** A discovery that found no usable authorization server, and why: AUTHORIZATION_SERVER_INVALID, SIGN_IN_FAILED, or a transient failure. */
export interface FailedDiscovery extends Omit<Discovery, "server" | "failure"> {
  readonly server?: undefined;
  readonly failure: ToolServerError;
}

/** A document that was tried. Safe to show, except for the error. */
export interface DiscoveryAttempt {
  /** The issuer whose metadata it would be; undefined for the metadata of the tool server. */
  readonly issuer: string | undefined;
  readonly url: string;
  /** `refused`: it is there, but must not be used. */
  readonly outcome: "found" | "absent" | "refused" | "failed";
  /** Why it is not used. */
  readonly reason?: string | undefined;
  /** Why it could not be read. */
  readonly error?: ToolServerError | undefined;
  /** What the metadata of an authorization server says. */
  readonly published?: PublishedServer | undefined;
}

interface Search {
  readonly context: OAuthContext;
  readonly read: ReadMetadata;
  readonly attempts: DiscoveryAttempt[];
}

const maxServers = 4;

/**
 * Finds the authorization server of a tool server, within the limits of a discovery. If there are several, uses the configured one, the
 * known one, or else the first usable one; for an identity provider, itself. Rejects only with the signal's reason.
 */
export async function discover(
  context: OAuthContext,
  request: DiscoveryRequest = {},
): Promise<Discovery | FailedDiscovery> {
  const { settings, isIdentityProvider } = context;
  const { knownIssuer, signal } = request;
  // An identity provider is no tool server.
  const probed = isIdentityProvider ? {} : (request.challenge ?? (await probe(context, signal)));
  const isSignInRequired = probed !== undefined;
  const challenge = { ...parseResourceChallenge(undefined), ...probed };
  const attempts: DiscoveryAttempt[] = [];
  let metadata: ResourceMetadata | undefined;
  let changedFrom: string | undefined;

  const search = async (read: ReadMetadata): Promise<AuthorizationServer> => {
    const parts = { context, attempts, read };
    if (isIdentityProvider) return chooseServer(parts, [settings.issuer ?? context.url.href], false);
    metadata = await searchResource(parts, challenge.resourceMetadata);
    const published = metadata?.authorizationServers ?? [];
    const named = published.length > 0 ? published : originIssuers(context.url);
    const chosen = settings.issuer ?? named.find((issuer) => issuer === knownIssuer);
    if (chosen !== knownIssuer) changedFrom = knownIssuer;
    const isPublic = !isSignInRequired && metadata === undefined && chosen === undefined;
    // A tool server that publishes nothing is its own authorization server; a failure to read does not count as nothing.
    const mayBeDefault =
      metadata === undefined && isSignInRequired && !attempts.some(({ error }) => error !== undefined);
    const issuers = chosen === undefined ? published : [chosen];
    const server = await chooseServer(parts, issuers, mayBeDefault).catch((error: unknown) => {
      throw isPublic && ToolServerError.is(error, "AUTHORIZATION_SERVER_INVALID") ? signInNotRequired(context) : error;
    });
    const { issuer, publishedIssuer } = server;
    const isSame = issuer === publishedIssuer;
    const note = isSame ? "" : ` Its metadata names the issuer ${publishedIssuer}; this difference is accepted.`;
    context.log.note("discovered", `The authorization server is ${issuer}.${note}`, isSame ? "info" : "warning");
    return server;
  };
  const searched = (): Omit<Discovery, "server" | "failure"> => ({
    challenge,
    resource: metadata?.resource ?? resourceOf(context.url),
    resourceScopes: metadata?.scopes,
    bindsTokens: metadata?.bindsTokens ?? false,
    changedFrom,
    attempts,
  });

  try {
    const server = await context.log.run("discovery", undefined, () => withinDiscoveryLimits(context, signal, search));
    return { ...searched(), server };
  } catch (error) {
    const failure: unknown = signal?.aborted ? signal.reason : error;
    if (!ToolServerError.is(failure)) throw failure;
    return { ...searched(), failure };
  }
}

/**
 * Discovers the metadata of a known issuer, without requesting the tool server's metadata again. If it had metadata before
 * (`wasPublished`), its absence is a transient failure: its secrets are not for the default endpoints. Rejects as `discover` fails.
 */
export function discoverIssuer(
  context: OAuthContext,
  issuer: string,
  wasPublished = false,
): Promise<AuthorizationServer> {
  return context.log.run("discovery", undefined, () =>
    withinDiscoveryLimits(context, undefined, (read) => {
      const onAbsent = wasPublished ? metadataGone : noMetadata;
      return chooseServer({ context, attempts: [], read }, [issuer], !wasPublished, onAbsent);
    }),
  );
}

/** Sends a request without a token, to find out what the tool server requires; undefined if it accepts the request. */
async function probe(
  { http, url, limits, log }: OAuthContext,
  signal: AbortSignal | undefined,
): Promise<Partial<ResourceChallenge> | undefined> {
  const requests: readonly Pick<HttpRequest, "method" | "headers" | "body">[] = [
    {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
    },
    // A server with the legacy SSE transport accepts no messages at its url.
    { method: "GET", headers: { accept: "text/event-stream" } },
  ];
  try {
    for (const request of requests) {
      // Reported as the first request of a flow, which the server is expected to refuse.
      const step = { name: "request without a token", request: { ...request, url }, expects: [401, 403] };
      const response = await log.request(step, () =>
        http.send({ ...request, url, headersTimeoutMs: limits.requestMs, signal }),
      );
      response.discard();
      const { status, headers } = response;
      if (isRefusal(status)) return parseResourceChallenge(headers["www-authenticate"]);
      if (status !== 404 && status !== 405) return status < 500 ? undefined : {};
    }
  } catch (error) {
    signal?.throwIfAborted();
    // The discovery itself reports what is wrong.
    if (!ToolServerError.is(error)) throw error;
  }
  return {};
}

/** The resource identifier of a tool server that publishes none: its url, without a trailing slash. */
export function resourceOf(url: URL): string {
  const { origin, pathname, search } = url;
  return `${origin}${pathname === "/" && search === "" ? "" : pathname}${search}`;
}

/** The two spellings of an origin as an issuer; it was not published, so both are right. */
function originIssuers(server: URL): [string, string] {
  return [server.origin, `${server.origin}/`];
}

/** Searches for the metadata of the tool server. Rejects with AUTHORIZATION_SERVER_INVALID if all of it describes other resources. */
async function searchResource(search: Search, challenged?: readonly string[]): Promise<ResourceMetadata | undefined> {
  const { context, attempts } = search;
  for (const url of resourceMetadataUrls(context.url, challenged)) {
    const metadata = await readMetadata(search, url, undefined, (json) => parseResourceMetadata(json, context.url));
    if (metadata !== undefined) return metadata;
  }
  const foreign = attempts.find(({ outcome }) => outcome === "refused");
  if (foreign === undefined) return undefined;
  throw oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", {
    problem: `its resource metadata describes another server (${foreign.url}: ${foreign.reason}). A token could be used there, so none is requested.`,
    advice: "Check the url of the server, or report this to its operator.",
  });
}

/** The first usable server of these issuers; of none, the tool server itself. */
async function chooseServer(
  search: Search,
  issuers: readonly string[],
  mayBeDefault: boolean,
  onAbsent = noMetadata,
): Promise<AuthorizationServer> {
  const { context } = search;
  const own = originIssuers(context.url);
  let failure: ToolServerError | undefined;
  for (const issuer of issuers.length === 0 ? own.slice(0, 1) : issuers.slice(0, maxServers)) {
    const found = await searchServer(search, issuer);
    if (found === undefined && own.includes(issuer) && mayBeDefault) return legacyAuthorizationServer(context.url);
    if (found !== undefined && !ToolServerError.is(found)) return found;
    const error = found ?? onAbsent(context, issuer);
    // A transient failure says more about what to do than a permanent one.
    if (failure === undefined || (isTransientFailure(error) && !isTransientFailure(failure))) failure = error;
  }
  throw failure;
}

/** Searches for the metadata of an issuer: returns why it cannot be used, or undefined if there certainly is none. */
async function searchServer(
  search: Search,
  issuer: string,
): Promise<AuthorizationServer | ToolServerError | undefined> {
  const { context, attempts } = search;
  const shown = peerText(context, issuer);
  const url = parseEndpoint(issuer, context);
  if (typeof url === "string") {
    const published = { ...describeServer(context, {}), endpoints: [{ name: "issuer", url: shown, defect: url }] };
    attempts.push({ issuer: shown, url: shown, outcome: "refused", reason: url, published });
    return invalid(context, `the issuer ${JSON.stringify(shown)} is invalid: ${url}`);
  }
  const first = attempts.length;
  for (const place of serverMetadataUrls(url)) {
    const server = await readMetadata(search, place, shown, (json) => parseAuthorizationServer(json, issuer, context));
    if (server !== undefined) return server;
  }
  const tried = attempts.slice(first);
  const refused = tried.find(({ outcome }) => outcome === "refused");
  if (refused !== undefined) return invalid(context, `the metadata at ${refused.url} is invalid: ${refused.reason}`);
  return tried.find(({ error }) => error !== undefined)?.error;
}

/** Reads the metadata at a url, and records the attempt. Undefined if it cannot be used. */
async function readMetadata<T extends object>(
  { context, read, attempts }: Search,
  url: URL,
  issuer: string | undefined,
  parse: (json: JsonObject) => T | string,
): Promise<T | undefined> {
  const requested = issuer === undefined ? "resource metadata" : "authorization server metadata";
  const base = { issuer, url: urlText(context, url) };
  const skip = (attempt: Omit<DiscoveryAttempt, "issuer" | "url">): undefined => {
    attempts.push({ ...base, ...attempt });
  };
  let json: JsonObject | string;
  try {
    json = await read(url, requested);
  } catch (error) {
    if (!ToolServerError.is(error)) throw error;
    return skip({ outcome: "failed", reason: error.message, error });
  }
  if (typeof json === "string") return skip({ outcome: "absent", reason: json });
  const parsed = parse(json);
  const published = issuer === undefined ? undefined : describeServer(context, json);
  if (typeof parsed === "string") {
    // Some servers return a JSON object at every path.
    const isOther = issuer === undefined && typeof json.resource !== "string";
    return skip({ outcome: isOther ? "absent" : "refused", reason: peerText(context, parsed, 400), published });
  }
  attempts.push({ ...base, outcome: "found", published });
  return parsed;
}

function invalid(context: OAuthContext, reason: string): ToolServerError {
  return oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", {
    problem: `${reason}.`,
    advice:
      "Report this to the operator of the server; if you know its issuer, set it in the settings of this server in oauth.json.",
  });
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

/**
 * The error for a tool server that names another authorization server than before. Only metadata was requested from the new one. Without
 * a user (`isMachine`), nobody can confirm the change, so the settings have to name the new one.
 */
export function issuerChanged(context: OAuthContext, from: string, to: string, isMachine = false): ToolServerError {
  const change = `its authorization server changed from ${peerText(context, from)} to ${peerText(context, to)}`;
  context.log.note("issuer-changed", `The server reports that ${change}.`, "warning");
  const problem = `${change}. This may be an attempt to steal your ${isMachine ? "credentials" : "sign-in"}.`;
  const advice = isMachine
    ? `Ask its operator; if the change is intended, set issuer to ${JSON.stringify(peerText(context, to))} in the settings of this server in oauth.json.`
    : "Ask its operator; if the change is intended, sign in again and confirm it.";
  return oauthFailure(context, "ISSUER_CHANGED", { problem, advice }, { details: { issuerChange: { from, to } } });
}
