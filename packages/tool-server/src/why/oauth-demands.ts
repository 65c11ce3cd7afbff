import { commandLine } from "../command-line.js";
import { isoTime } from "../duration.js";
import type { Demand, Outcome } from "./explanation.js";
import type { WalkFacts } from "./facts.js";
import type { AuthorizationLook, ClientLook, OAuthFacts } from "./oauth-facts.js";

/** What the authorization part of the protocol demands, up to a token. */
export function oauthDemands({ attempt }: WalkFacts, oauth: OAuthFacts): Demand[] {
  const { resource, authorization, client } = oauth;
  const challenge = attempt?.refusal?.challenge;
  const named = challenge?.resourceMetadata ?? [];
  const isAsked = attempt?.refusal?.status === 401;
  return [
    demand(
      "401 comes with a challenge that names the resource metadata",
      // To name it is one of two ways; the other is the well-known place.
      isAsked && named.length > 0 ? "ok" : "skipped",
      named.join(", ") || (isAsked ? "It names none; the well-known places are looked at." : undefined),
    ),
    demand(
      "resource metadata (RFC 9728) is published",
      resource === undefined
        ? "skipped"
        : resource.outcome === "absent"
          ? "failed"
          : met(resource.outcome !== "failed"),
      ...(resource?.evidence ?? []),
    ),
    demand(
      "the resource is this server, so that tokens are for it alone (RFC 8707)",
      resource === undefined || resource.outcome === "absent" ? "skipped" : met(resource.outcome === "found"),
      resource?.resource,
    ),
    ...authorizationDemands(authorization),
    registrationDemand(authorization, client),
    tokenDemand(oauth, attempt?.refusal === undefined && attempt?.failure === undefined),
  ];
}

function demand(name: string, outcome: Outcome, ...evidence: readonly (string | undefined)[]): Demand {
  return { demand: name, outcome, evidence: evidence.filter((line) => line !== undefined) };
}

function met(isMet: boolean): Outcome {
  return isMet ? "ok" : "failed";
}

function authorizationDemands(look: AuthorizationLook | undefined): Demand[] {
  const names = {
    metadata: "metadata of the authorization server (RFC 8414, OpenID Connect) is published",
    issuer: "its issuer is the one that was named, letter by letter",
    endpoints: "every endpoint is of https",
    pkce: "PKCE with S256 is offered",
    sendsIssuer: "its answers say who gave them (RFC 9207)",
    offline: "tokens can be renewed (offline_access), and revoked",
  };
  if (look === undefined) return Object.values(names).map((name) => demand(name, "skipped"));
  const { outcome, evidence, endpoints, pkce, publishedIssuer, expectedIssuer } = look;
  const isThere = outcome === "found" || outcome === "invalid";
  const unsafe = endpoints.filter(({ defect }) => defect !== undefined);
  const isSame = publishedIssuer === expectedIssuer || (outcome === "found" && publishedIssuer !== undefined);
  const hasOffline = look.scopes?.includes("offline_access") ?? false;
  const canRevoke = endpoints.some(({ name }) => name === "revocation_endpoint");
  return [
    demand(
      names.metadata,
      met(isThere),
      ...(outcome === "default" ? ["None; the default endpoints are used."] : evidence),
    ),
    demand(names.issuer, isThere ? met(isSame) : "skipped", publishedIssuer ?? expectedIssuer),
    demand(
      names.endpoints,
      isThere ? met(unsafe.length === 0) : "skipped",
      ...(unsafe.length === 0
        ? endpoints.map(({ name }) => name)
        : unsafe.map(({ name, defect }) => `${name}: ${defect}`)),
    ),
    demand(
      names.pkce,
      isThere ? met(pkce?.includes("S256") ?? false) : "skipped",
      pkce?.join(", ") ?? (isThere ? "It tells no methods." : undefined),
    ),
    demand(
      names.sendsIssuer,
      look.sendsIssuer ? "ok" : "skipped",
      look.sendsIssuer ? undefined : "It does not promise that.",
    ),
    demand(
      names.offline,
      hasOffline && canRevoke ? "ok" : "skipped",
      `offline_access ${hasOffline ? "is" : "is not"} offered; tokens ${canRevoke ? "can" : "cannot"} be revoked.`,
    ),
  ];
}

function registrationDemand(look: AuthorizationLook | undefined, client: ClientLook | undefined): Demand {
  const name = "there is a way to a client";
  if (client !== undefined) {
    const isRefused =
      client.outcome === "dead" || client.outcome === "redirect-mismatch" || client.outcome === "closed";
    return demand(name, met(!isRefused), ...client.evidence);
  }
  if (look === undefined) return demand(name, "skipped");
  const ways = [
    ...(look.takesMetadataDocuments ? ["client-id metadata documents"] : []),
    ...(look.endpoints.some((endpoint) => endpoint.name === "registration_endpoint") ? ["dynamic registration"] : []),
  ];
  return demand(
    name,
    ways.length === 0 ? "skipped" : "ok",
    ways.join(", ") || "Only a client that was registered by hand.",
  );
}

function tokenDemand({ before, events }: OAuthFacts, isAccepted: boolean): Demand {
  const name = "there is a token that the server accepts";
  if (before?.isSignedIn !== true) return demand(name, "skipped", `Nobody has signed in: ${commandLine("login")}.`);
  const until = before.expiresAt === undefined ? undefined : `valid until ${isoTime(before.expiresAt)}`;
  const renewals = events
    .filter(({ kind }) => kind === "refreshed" || kind === "tokens-dropped")
    .map(({ text }) => text);
  return demand(name, met(isAccepted), ...(renewals.length === 0 ? [until] : renewals));
}
