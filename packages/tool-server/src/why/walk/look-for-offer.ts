import { carriesCredential } from "../../auth/credentials/diagnose-refusal.js";
import { contextOf } from "../../auth/oauth/session/session-options.js";
import type { CredentialDescription } from "../../connection-info.js";
import { ToolServerError } from "../../errors.js";
import type { HttpClient } from "../../http/http-client.js";
import type { AttemptFacts } from "../facts.js";
import type { OAuthOffer } from "../oauth-facts.js";
import { lookAtAuthorization } from "./look-at-authorization.js";
import type { Walk } from "./walk.js";

/**
 * Looks whether a server that was sent a token of the configuration offers a sign-in by OAuth that could succeed. Only metadata is
 * read, without the token. Undefined if it offers none, or if the metadata cannot be read.
 */
export async function lookForOffer(
  walk: Walk,
  url: string,
  http: HttpClient,
  { kind, headers }: CredentialDescription,
  { connected, refusal }: AttemptFacts,
): Promise<OAuthOffer | undefined> {
  const { options, entry, secrets, clock } = walk;
  const carrying = headers.filter(carriesCredential).map(({ name }) => name);
  const isReached = connected !== undefined || refusal !== undefined;
  if (options.oauth === undefined || entry.type === "ws" || kind !== "headers" || carrying.length === 0 || !isReached) {
    return undefined;
  }
  const answerMs = Math.min(walk.answerMs, 10_000);
  const context = contextOf({
    server: entry.name,
    url,
    http,
    secrets,
    clock,
    limits: { requestMs: answerMs, discoveryMs: answerMs },
    allowInsecureLoopback: options.allowInsecureLoopback,
  });
  try {
    const { resource, authorization } = await lookAtAuthorization(context, {
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
