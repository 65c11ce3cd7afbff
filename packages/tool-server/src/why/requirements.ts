import { fixByCommand } from "../causes/fixes.js";
import { isoTime } from "../duration.js";
import {
  type AttemptEvidence,
  type AuthorizationServerEvidence,
  type ClientEvidence,
  isRenewal,
  type OAuthEvidence,
  type WalkEvidence,
} from "./evidence.js";
import type { CheckOutcome, Requirement } from "./explanation.js";
import { describeCredential, describeOmitted, describeServer, isClientRefused } from "./steps.js";

/**
 * The requirements for a server and whether it meets them, as far as the walk got. A recommendation that the server does not
 * follow is skipped, and so is a sign-in that is still missing.
 */
export function requirementsOf(seen: WalkEvidence): Requirement[] {
  const { attempt, type, trust } = seen;
  if (trust?.state !== "trusted") return [];
  return type === "stdio"
    ? stdioRequirements(seen)
    : [...connectionRequirements(seen), ...credentialRequirements(seen), ...protocolRequirements(attempt)];
}

function requirement(name: string, outcome: CheckOutcome, ...evidence: readonly (string | undefined)[]): Requirement {
  return { requirement: name, outcome, evidence: evidence.filter((line) => line !== undefined) };
}

function met(isMet: boolean): CheckOutcome {
  return isMet ? "ok" : "failed";
}

function stdioRequirements({ child, attempt }: WalkEvidence): Requirement[] {
  const isStarted = child !== undefined && child.notStarted === undefined && child.path !== undefined;
  const hasExited = child?.exit !== undefined;
  return [
    requirement("the command exists and is executable", met(isStarted), child?.path ?? child?.command),
    requirement(
      "the process keeps running",
      isStarted ? met(!hasExited) : "skipped",
      hasExited ? attempt?.failure?.message : undefined,
    ),
    requirement(
      "standard output contains only messages",
      isStarted ? met(child.strayOutput === undefined) : "skipped",
      child?.strayOutput,
    ),
    ...protocolRequirements(attempt),
  ];
}

function connectionRequirements({ network }: WalkEvidence): Requirement[] {
  if (network === undefined) return [requirement("the host is reachable", "skipped")];
  const { failure, connected, isSecure, host, port } = network;
  const isTls = failure?.stage === "tls";
  const isReached = failure === undefined || isTls;
  const result = isReached ? `${host}, port ${port}` : failure.message;
  const reach = requirement("the host is reachable", met(isReached), result);
  if (!isSecure) return [reach, requirement("TLS", "skipped", "Not used: the server is on this machine.")];
  const tls = isTls ? "failed" : connected === undefined ? "skipped" : "ok";
  return [reach, requirement("TLS with a trusted certificate", tls, isTls ? failure.message : connected?.tls)];
}

/** The server responds and accepts the credential; for OAuth, everything that a sign-in needs. */
function credentialRequirements(seen: WalkEvidence): Requirement[] {
  const { attempt, oauth, helper } = seen;
  const accepted = "the credential is accepted";
  const first: Requirement[] = [];
  if (helper !== undefined) {
    const result = helper.failure?.message ?? helper.headers.join(", ");
    first.push(requirement("the helper returns headers", met(helper.failure === undefined), result));
  }
  if (attempt === undefined) return [...first, requirement(accepted, "skipped")];
  const { refusal, credential, failure, connected } = attempt;
  if (oauth !== undefined && (refusal !== undefined || oauth.resource !== undefined)) {
    return [...first, ...oauthRequirements(seen, oauth)];
  }
  if (refusal !== undefined) {
    const line = `The server returned ${refusal.status} to ${describeCredential(credential)}.`;
    return [...first, requirement(accepted, "failed", line)];
  }
  if (failure !== undefined && connected === undefined) return [...first, requirement(accepted, "skipped")];
  const sent = credential === "none" ? "None is required." : describeCredential(credential);
  return [...first, requirement(accepted, "ok", sent)];
}

function protocolRequirements(attempt: AttemptEvidence | undefined): Requirement[] {
  const { connected, failure, refusal } = attempt ?? {};
  const protocol = "the server speaks the protocol";
  const version = "its protocol version is supported";
  const tools = "its tools are valid";
  if (connected === undefined) {
    const isUnknown = failure === undefined || refusal !== undefined;
    return [
      requirement(protocol, isUnknown ? "skipped" : "failed", isUnknown ? undefined : failure.message),
      requirement(version, "skipped"),
      requirement(tools, "skipped"),
    ];
  }
  const isDefect = failure !== undefined && refusal === undefined;
  return [
    requirement(protocol, met(!isDefect), isDefect ? failure.message : describeServer(connected)),
    requirement(version, "ok", `${connected.protocolVersion}, ${connected.era} era`),
    requirement(tools, isDefect ? "skipped" : met(connected.omitted === undefined), describeOmitted(connected)),
  ];
}

/** The requirements of the authorization part of the protocol, up to a token. */
function oauthRequirements(seen: WalkEvidence, oauth: OAuthEvidence): Requirement[] {
  const { attempt } = seen;
  const { resource, authorization, client } = oauth;
  const named = attempt?.refusal?.challenge?.resourceMetadata ?? [];
  const isChallenged = attempt?.refusal?.status === 401;
  const isAbsent = resource === undefined || resource.outcome === "absent";
  return [
    requirement(
      "401 has a challenge that names the resource metadata",
      // The challenge is one of two ways; the other is the well-known url.
      isChallenged && named.length > 0 ? "ok" : "skipped",
      named.join(", ") || (isChallenged ? "It names none, so the well-known urls are used." : undefined),
    ),
    requirement(
      "resource metadata (RFC 9728) is published",
      resource === undefined ? "skipped" : met(!isAbsent && resource.outcome !== "failed"),
      ...(resource?.evidence ?? []),
    ),
    requirement(
      "the resource is this server, so that tokens are valid for it alone (RFC 8707)",
      isAbsent ? "skipped" : met(resource.outcome === "found"),
      resource?.resource,
    ),
    ...authorizationRequirements(authorization),
    registrationRequirement(authorization, client),
    tokenRequirement(seen, oauth, attempt?.refusal === undefined && attempt?.failure === undefined),
  ];
}

function authorizationRequirements(authorization: AuthorizationServerEvidence | undefined): Requirement[] {
  const names = {
    metadata: "metadata of the authorization server (RFC 8414, OpenID Connect) is published",
    issuer: "its issuer is exactly the one that was named",
    endpoints: "every endpoint uses https",
    pkce: "PKCE with S256 is supported",
    sendsIssuer: "its responses name their issuer (RFC 9207)",
    offline: "tokens can be renewed (offline_access) and revoked",
  };
  if (authorization === undefined) return Object.values(names).map((name) => requirement(name, "skipped"));
  const { outcome, evidence, endpoints, pkce, publishedIssuer, expectedIssuer, scopes, sendsIssuer } = authorization;
  const isPublished = outcome === "found" || outcome === "invalid";
  const unsafe = endpoints.filter(({ defect }) => defect !== undefined);
  const isSame = publishedIssuer === expectedIssuer || (outcome === "found" && publishedIssuer !== undefined);
  const hasOffline = scopes?.includes("offline_access") ?? false;
  const canRevoke = endpoints.some(({ name }) => name === "revocation_endpoint");
  return [
    requirement(
      names.metadata,
      met(isPublished),
      ...(outcome === "default" ? ["None; the default endpoints are used."] : evidence),
    ),
    requirement(
      names.issuer,
      isPublished ? met(isSame) : "skipped",
      publishedIssuer ?? expectedIssuer,
      isSame && publishedIssuer !== expectedIssuer
        ? `${expectedIssuer} was named; this difference is accepted.`
        : undefined,
    ),
    requirement(
      names.endpoints,
      isPublished ? met(unsafe.length === 0) : "skipped",
      ...(unsafe.length === 0
        ? endpoints.map(({ name }) => name)
        : unsafe.map(({ name, defect }) => `${name}: ${defect}`)),
    ),
    authorization.assumesPkce
      ? requirement(names.pkce, "skipped", "The metadata does not list it; it is used anyway.")
      : requirement(
          names.pkce,
          isPublished ? met(pkce?.includes("S256") ?? false) : "skipped",
          pkce?.join(", ") ?? (isPublished ? "The metadata lists no methods." : undefined),
        ),
    requirement(
      names.sendsIssuer,
      sendsIssuer ? "ok" : "skipped",
      sendsIssuer ? undefined : "The metadata does not promise it.",
    ),
    requirement(
      names.offline,
      hasOffline && canRevoke ? "ok" : "skipped",
      `offline_access ${hasOffline ? "is" : "is not"} supported; tokens ${canRevoke ? "can" : "cannot"} be revoked.`,
    ),
  ];
}

function registrationRequirement(
  authorization: AuthorizationServerEvidence | undefined,
  client: ClientEvidence | undefined,
): Requirement {
  const name = "a client is registered or can be";
  if (client !== undefined) return requirement(name, met(!isClientRefused(client)), ...client.evidence);
  if (authorization === undefined) return requirement(name, "skipped");
  const ways = [
    ...(authorization.takesMetadataDocuments ? ["client-id metadata documents"] : []),
    ...(authorization.endpoints.some((endpoint) => endpoint.name === "registration_endpoint")
      ? ["dynamic registration"]
      : []),
  ];
  const evidence = ways.join(", ") || "Only a client that was registered by hand.";
  return requirement(name, ways.length === 0 ? "skipped" : "ok", evidence);
}

function tokenRequirement(seen: WalkEvidence, { before, events }: OAuthEvidence, isAccepted: boolean): Requirement {
  const name = "the server accepts the stored token";
  if (before?.isSignedIn !== true)
    return requirement(name, "skipped", `Not signed in: ${fixByCommand(seen, ["login"], "").command}.`);
  const until = before.expiresAt === undefined ? undefined : `valid until ${isoTime(before.expiresAt)}`;
  const renewals = events
    .filter((event) => isRenewal(event) || event.kind === "tokens-dropped")
    .map(({ text }) => text);
  return requirement(name, met(isAccepted), ...(renewals.length === 0 ? [until] : renewals));
}
