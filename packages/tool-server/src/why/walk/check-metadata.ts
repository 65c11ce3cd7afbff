import {
  type AuthorizationServer,
  legacyAuthorizationServer,
  originIssuers,
  parseAuthorizationServer,
  serverMetadataUrls,
} from "../../auth/oauth/discovery/authorization-server.js";
import {
  createDiscoveryBudget,
  type DiscoveryBudget,
  type FetchResult,
  reasonOf,
} from "../../auth/oauth/discovery/discovery-budget.js";
import { parseResourceMetadata, resourceMetadataUrls } from "../../auth/oauth/discovery/resource-metadata.js";
import type { OAuthContext } from "../../auth/oauth/oauth-context.js";
import { peerText, urlText } from "../../auth/oauth/oauth-errors.js";
import { parseEndpoint } from "../../auth/oauth/requests/endpoint-rules.js";
import { type JsonObject, stringList } from "../../json-object.js";
import {
  type AuthorizationServerEvidence,
  type EndpointEvidence,
  isEvidence,
  type ResourceEvidence,
} from "../evidence.js";

/** The metadata of a tool server and of its authorization server. */
export interface AuthorizationEvidence {
  readonly resource: ResourceEvidence;
  readonly authorization: AuthorizationServerEvidence;
  /** Undefined if it must not be used. */
  readonly server: AuthorizationServer | undefined;
}

export interface MetadataOptions {
  /** The `resource_metadata` of the challenge. */
  readonly challenged: readonly string[];
  readonly knownIssuer: string | undefined;
  readonly pinnedIssuer: string | undefined;
  readonly signal: AbortSignal;
}

const maxServers = 4;

/** Reads the metadata that a sign-in would use, in the same order, and collects what is wrong. Sends only GET requests. */
export async function checkMetadata(
  context: OAuthContext,
  { challenged, knownIssuer, pinnedIssuer, signal }: MetadataOptions,
): Promise<AuthorizationEvidence> {
  const budget = createDiscoveryBudget(context, signal);
  try {
    const resource = await checkResource(context, budget, challenged);
    const own = originIssuers(context.url);
    const named = resource.issuers.length > 0 ? resource.issuers : own.slice(0, 1);
    const isKnown = knownIssuer !== undefined && [...resource.issuers, ...own].includes(knownIssuer);
    const issuers = pinnedIssuer !== undefined ? [pinnedIssuer] : isKnown ? [knownIssuer] : named.slice(0, maxServers);
    const changedFrom = knownIssuer !== undefined && !issuers.includes(knownIssuer) ? knownIssuer : undefined;
    let first: Omit<AuthorizationEvidence, "resource"> | undefined;
    for (const issuer of issuers) {
      // The origin was not published as an issuer, so it may be spelled with or without a slash.
      const spellings = resource.issuers.length === 0 && own.includes(issuer) ? own : [issuer];
      const found = await checkIssuer(context, budget, spellings, changedFrom);
      if (found.server !== undefined) return { resource, ...found };
      first ??= found;
    }
    const isDefault = first?.authorization.outcome === "absent" && resource.outcome === "absent";
    if (first === undefined) throw new TypeError("There is always at least one issuer.");
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

async function checkIssuer(
  context: OAuthContext,
  budget: DiscoveryBudget,
  spellings: readonly string[],
  changedFrom: string | undefined,
): Promise<Omit<AuthorizationEvidence, "resource">> {
  const expected = spellings[0] ?? "";
  const evidence: string[] = [];
  const nothing: AuthorizationServerEvidence = {
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
  let refused: AuthorizationServerEvidence | undefined;
  let isFailing = false;
  for (const url of serverMetadataUrls(issuer)) {
    const shownUrl = urlText(context, url);
    const found = await requestWithin(budget, url);
    if (found.kind !== "found") {
      evidence.push(`${shownUrl}: ${reasonOf(found)}`);
      isFailing ||= found.kind === "failed";
      continue;
    }
    const server = parseAuthorizationServer(found.json, spellings, context);
    const about = { ...nothing, ...describe(context, found.json) };
    if (typeof server !== "string") {
      evidence.push(`${shownUrl}: found`);
      return { server, authorization: { ...about, outcome: "found" } };
    }
    evidence.push(`${shownUrl}: ${peerText(context, server, 400)}`);
    refused ??= { ...about, outcome: "invalid" };
  }
  return { server: undefined, authorization: refused ?? { ...nothing, outcome: isFailing ? "failed" : "absent" } };
}

function describe(context: OAuthContext, json: JsonObject): Partial<AuthorizationServerEvidence> {
  const { issuer } = json;
  return {
    publishedIssuer: typeof issuer === "string" ? peerText(context, issuer) : undefined,
    pkce: stringList(json.code_challenge_methods_supported)?.map((method) => peerText(context, method, 40)),
    endpoints: Object.entries(json).flatMap(([name, value]): EndpointEvidence[] => {
      if (!usedEndpoints.has(name) || typeof value !== "string") return [];
      const parsed = parseEndpoint(value, context);
      return [{ name, url: peerText(context, value, 300), defect: typeof parsed === "string" ? parsed : undefined }];
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

/** Reads the resource metadata of a tool server (RFC 9728). */
async function checkResource(
  context: OAuthContext,
  budget: DiscoveryBudget,
  challenged: readonly string[],
): Promise<ResourceEvidence> {
  const evidence: string[] = [];
  const nothing = { resource: undefined, issuers: [], scopes: undefined, evidence };
  let outcome: ResourceEvidence["outcome"] = "absent";
  for (const url of resourceMetadataUrls(context.url, challenged)) {
    const shownUrl = urlText(context, url);
    const found = await requestWithin(budget, url);
    if (found.kind === "found") {
      const metadata = parseResourceMetadata(found.json, context.url);
      if (typeof metadata !== "string") {
        const { resource, authorizationServers, scopes } = metadata;
        evidence.push(`${shownUrl}: found`);
        return {
          ...nothing,
          outcome: "found",
          resource: peerText(context, resource),
          issuers: authorizationServers,
          scopes: scopes?.map((scope) => peerText(context, scope)),
        };
      }
      evidence.push(`${shownUrl}: ${peerText(context, metadata)}`);
      if (typeof found.json.resource === "string") outcome = "foreign";
    } else {
      evidence.push(`${shownUrl}: ${reasonOf(found)}`);
      if (found.kind === "failed" && outcome === "absent") outcome = "failed";
    }
  }
  return { ...nothing, outcome };
}

/** A request within the discovery budget, which failed if the budget is spent or the walk timed out. */
async function requestWithin(budget: DiscoveryBudget, url: URL): Promise<FetchResult> {
  try {
    return await budget.fetchJson(url, "metadata");
  } catch (error) {
    if (!isEvidence(error)) throw error;
    return { kind: "failed", error };
  }
}
