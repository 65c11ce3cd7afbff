import {
  type AuthorizationServer,
  legacyAuthorizationServer,
  originIssuers,
  parseAuthorizationServer,
  serverMetadataUrls,
} from "../../auth/oauth/discovery/authorization-server.js";
import { createDiscoveryBudget, type DiscoveryBudget } from "../../auth/oauth/discovery/discovery-budget.js";
import type { OAuthContext } from "../../auth/oauth/oauth-context.js";
import { peerText, urlText } from "../../auth/oauth/oauth-errors.js";
import { parseEndpoint } from "../../auth/oauth/requests/endpoint-rules.js";
import { type JsonObject, stringList } from "../../json-object.js";
import type { AuthorizationLook, EndpointLook, ResourceLook } from "../oauth-facts.js";
import { lookAtResource } from "./look-at-resource.js";
import { lookWithin } from "./look-within-budget.js";

/** What a tool server and its authorization server say of themselves. */
export interface AuthorizationLooks {
  readonly resource: ResourceLook;
  readonly authorization: AuthorizationLook;
  /** Undefined where it must not be used. */
  readonly server: AuthorizationServer | undefined;
}

export interface AuthorizationQuestion {
  /** The `resource_metadata` of the challenge. */
  readonly challenged: readonly string[];
  readonly knownIssuer: string | undefined;
  readonly pinnedIssuer: string | undefined;
  readonly signal: AbortSignal;
}

const mostServers = 4;

/** Looks at the metadata that a sign-in would use, in the same order, and takes note of all that is wrong. Nothing is sent but GET. */
export async function lookAtAuthorization(
  context: OAuthContext,
  { challenged, knownIssuer, pinnedIssuer, signal }: AuthorizationQuestion,
): Promise<AuthorizationLooks> {
  const budget = createDiscoveryBudget(context, signal);
  try {
    const resource = await lookAtResource(context, budget, challenged);
    const own = originIssuers(context.url);
    const named = resource.issuers.length > 0 ? resource.issuers : own.slice(0, 1);
    const isKnown = knownIssuer !== undefined && [...resource.issuers, ...own].includes(knownIssuer);
    const issuers = pinnedIssuer !== undefined ? [pinnedIssuer] : isKnown ? [knownIssuer] : named.slice(0, mostServers);
    const changedFrom = knownIssuer !== undefined && !issuers.includes(knownIssuer) ? knownIssuer : undefined;
    let first: Omit<AuthorizationLooks, "resource"> | undefined;
    for (const issuer of issuers) {
      // Nobody published the origin as an issuer, so neither way to write it is wrong.
      const spellings = resource.issuers.length === 0 && own.includes(issuer) ? own : [issuer];
      const found = await lookAtIssuer(context, budget, spellings, changedFrom);
      if (found.server !== undefined) return { resource, ...found };
      first ??= found;
    }
    const isDefault = first?.authorization.outcome === "absent" && resource.outcome === "absent";
    if (first === undefined) throw new TypeError("There is always an issuer to look at.");
    if (!isDefault || !own.includes(issuers[0] ?? "")) return { resource, ...first };
    return {
      resource,
      server: legacyAuthorizationServer(context.url),
      authorization: { ...first.authorization, outcome: "default" },
    };
  } finally {
    budget.close();
  }
}

async function lookAtIssuer(
  context: OAuthContext,
  budget: DiscoveryBudget,
  spellings: readonly string[],
  changedFrom: string | undefined,
): Promise<Omit<AuthorizationLooks, "resource">> {
  const expected = spellings[0] ?? "";
  const evidence: string[] = [];
  const nothing: AuthorizationLook = {
    outcome: "absent",
    evidence,
    expectedIssuer: peerText(context, expected),
    publishedIssuer: undefined,
    pkce: undefined,
    endpoints: [],
    scopes: undefined,
    takesMetadataDocuments: false,
    sendsIssuer: false,
    changedFrom: changedFrom === undefined ? undefined : peerText(context, changedFrom),
  };
  const issuer = parseEndpoint(expected, context);
  if (typeof issuer === "string") {
    evidence.push(`The issuer ${peerText(context, expected)}: ${issuer}`);
    const endpoints = [{ name: "issuer", url: peerText(context, expected), defect: issuer }];
    return { server: undefined, authorization: { ...nothing, outcome: "invalid", endpoints } };
  }
  let refused: AuthorizationLook | undefined;
  let isFailing = false;
  for (const url of serverMetadataUrls(issuer)) {
    const place = urlText(context, url);
    const look = await lookWithin(budget, url);
    if (look.kind !== "found") {
      evidence.push(`${place}: ${look.kind === "failed" ? look.error.message : look.reason}`);
      isFailing ||= look.kind === "failed";
      continue;
    }
    const server = parseAuthorizationServer(look.json, spellings, context);
    const about = { ...nothing, ...describe(context, look.json) };
    if (typeof server !== "string") {
      evidence.push(`${place}: it is there`);
      return { server, authorization: { ...about, outcome: "found" } };
    }
    evidence.push(`${place}: ${peerText(context, server, 400)}`);
    refused ??= { ...about, outcome: "invalid" };
  }
  return { server: undefined, authorization: refused ?? { ...nothing, outcome: isFailing ? "failed" : "absent" } };
}

function describe(context: OAuthContext, json: JsonObject): Partial<AuthorizationLook> {
  const { issuer } = json;
  return {
    publishedIssuer: typeof issuer === "string" ? peerText(context, issuer) : undefined,
    pkce: stringList(json.code_challenge_methods_supported)?.map((method) => peerText(context, method, 40)),
    endpoints: Object.entries(json).flatMap(([name, value]): EndpointLook[] => {
      if (!/^[a-z_]{1,60}_endpoint$/.test(name) || typeof value !== "string") return [];
      const parsed = parseEndpoint(value, context);
      const isUsed = usedEndpoints.has(name);
      const defect = typeof parsed === "string" && isUsed ? parsed : undefined;
      return isUsed ? [{ name, url: peerText(context, value, 300), defect }] : [];
    }),
    scopes: stringList(json.scopes_supported)?.map((scope) => peerText(context, scope, 100)),
    takesMetadataDocuments: json.client_id_metadata_document_supported === true,
    sendsIssuer: json.authorization_response_iss_parameter_supported === true,
  };
}

const usedEndpoints: ReadonlySet<string> = new Set([
  "authorization_endpoint",
  "token_endpoint",
  "registration_endpoint",
  "revocation_endpoint",
  "device_authorization_endpoint",
]);
