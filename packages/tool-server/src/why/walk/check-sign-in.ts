import { carriesCredential } from "../../auth/credentials/refusal-evidence.js";
import { contextOf } from "../../auth/oauth/session/session-options.js";
import type { ConnectionInfo, CredentialDescription } from "../../connection-info.js";
import { ToolServerError } from "../../errors.js";
import type { HttpClient } from "../../http/http-client.js";
import type { AttemptEvidence, OAuthEvidence, OAuthOffer } from "../evidence.js";
import { checkClient } from "./check-client.js";
import { checkMetadata } from "./check-metadata.js";
import type { StoredSignIn } from "./prepare-credential.js";
import type { Walk } from "./walk.js";

/**
 * Checks the authorization server of a tool server, if the server asked for a sign-in or somebody signed in before. `attempt` is
 * undefined if the walk did not get that far.
 */
export async function checkSignIn(
  walk: Walk,
  signIn: StoredSignIn,
  attempt: AttemptEvidence | undefined,
  info: ConnectionInfo,
): Promise<OAuthEvidence> {
  const { session, options, vault, vaultFailure, before, events } = signIn;
  const stored = (): OAuthEvidence => ({ vault, vaultFailure, before, events: [...events] });
  const isAsked = attempt?.refusal !== undefined || before?.issuer !== undefined;
  if (session === undefined || options === undefined || attempt === undefined || !isAsked) return stored();
  try {
    const { resource, authorization, server } = await checkMetadata(session.context, {
      challenged: attempt.refusal?.challenge?.resourceMetadata ?? [],
      knownIssuer: before?.issuer,
      pinnedIssuer: options.issuer,
      signal: walk.signal,
    });
    const found = { ...stored(), resource, authorization };
    for (const line of [...resource.evidence, ...authorization.evidence]) walk.report(info, "info", line);
    // A server that works has a known client.
    if (server === undefined || attempt.failure === undefined) return found;
    const name = resource.resource ?? session.context.url.href;
    const client = await checkClient(session.context, { options, server, resource: name, signal: walk.signal });
    for (const line of client.evidence) walk.report(info, "info", line);
    return { ...found, events: [...events], client };
  } catch (error) {
    if (!ToolServerError.is(error)) throw error;
    return stored();
  }
}

/**
 * Checks whether a server that was sent a token of the entry supports OAuth, so that a sign-in could succeed. Only metadata is
 * read, without the token. Undefined if not, or if the metadata cannot be read.
 */
export async function checkOffer(
  walk: Walk,
  url: string,
  http: HttpClient,
  { kind, headers }: CredentialDescription,
  { connected, refusal }: AttemptEvidence,
): Promise<OAuthOffer | undefined> {
  const { options, entry, secrets, clock } = walk;
  const carrying = headers.filter(carriesCredential).map(({ name }) => name);
  const isReached = connected !== undefined || refusal !== undefined;
  if (options.oauth === undefined || entry.type === "ws" || kind !== "headers" || carrying.length === 0 || !isReached) {
    return undefined;
  }
  const requestMs = Math.min(walk.responseMs, 10_000);
  const context = contextOf({
    server: entry.name,
    url,
    http,
    secrets,
    clock,
    limits: { requestMs, discoveryMs: requestMs },
    allowInsecureLoopback: options.allowInsecureLoopback,
  });
  try {
    const { resource, authorization } = await checkMetadata(context, {
      challenged: refusal?.challenge?.resourceMetadata ?? [],
      knownIssuer: undefined,
      pinnedIssuer: undefined,
      signal: walk.signal,
    });
    const { outcome, publishedIssuer, pkce, endpoints, evidence } = authorization;
    if (outcome !== "found" || publishedIssuer === undefined || !pkce?.includes("S256")) return undefined;
    return {
      headers: carrying,
      issuer: publishedIssuer,
      canRegister: endpoints.some(({ name, defect }) => name === "registration_endpoint" && defect === undefined),
      evidence: [...resource.evidence, ...evidence],
    };
  } catch (error) {
    if (!ToolServerError.is(error)) throw error;
    return undefined;
  }
}
