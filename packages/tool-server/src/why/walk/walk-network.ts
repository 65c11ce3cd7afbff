import { createNoCredential } from "../../auth/credentials/fixed-credential.js";
import type { ResolvedEntry } from "../../config/substitute-entry.js";
import type { TransportInfo } from "../../connection-info.js";
import { ToolServerError } from "../../errors.js";
import { createHttpClient } from "../../http/create-http-client.js";
import { hostOf, portOf } from "../../http/loopback.js";
import type { NetworkFacts, WalkFacts } from "../facts.js";
import { connectionFactsOf } from "./attempt.js";
import { attemptOverNetwork } from "./attempt-over-network.js";
import { tellExchange } from "./exchange-story.js";
import { lookAtNetwork } from "./look-at-network.js";
import { lookAtSignIn } from "./look-at-sign-in.js";
import { lookForOffer } from "./look-for-offer.js";
import { type PreparedCredential, prepareCredential } from "./prepare-credential.js";
import { createRecordingClient, type RecordingClient } from "./recording-client.js";
import { mayBeNextDoor, tryAlternatives } from "./try-alternatives.js";
import type { Walk } from "./walk.js";

type NetworkResolved = Exclude<ResolvedEntry, { readonly type: "stdio" }>;
type Found = Pick<WalkFacts, "helper" | "network" | "attempt" | "alternative" | "oauth" | "offer">;

/** Walks the way to a server on the network as far as it goes: helper, host, HTTP, credential, protocol. */
export async function walkNetwork(walk: Walk, resolved: NetworkResolved): Promise<Found> {
  const url = new URL(resolved.url);
  let prepared: PreparedCredential = { credential: createNoCredential({ server: resolved.name }) };
  const describe = () => (prepared.credential ?? createNoCredential({ server: resolved.name })).describe();
  const facts = { ...connectionFactsOf(walk, resolved), credential: describe };
  let current: TransportInfo = { connection: facts, target: facts.target };
  let http: RecordingClient;
  try {
    const client = createHttpClient({
      server: resolved.name,
      transport: () => current,
      variables: walk.variables,
      tls: walk.ca === undefined ? undefined : { ca: walk.ca },
      secrets: walk.secrets,
      connectMs: walk.answerMs,
      clock: walk.clock,
    });
    http = createRecordingClient(client, walk.clock, (seen) => tellExchange(walk, current, seen, describe()));
  } catch (error) {
    return { network: unusable(walk, url, error) };
  }
  try {
    prepared = await prepareCredential(walk, resolved, http, facts);
    const { credential, helper, signIn, failure } = prepared;
    if (failure !== undefined) return { network: unusable(walk, url, failure) };
    const network = await lookAtNetwork(walk, url, http);
    if (network.failure !== undefined || credential === undefined) {
      return { helper, network, oauth: signIn && (await lookAtSignIn(walk, signIn, undefined, facts)) };
    }
    const attempt = await attemptOverNetwork(walk, {
      resolved,
      credential,
      http,
      facts,
      onTransport: (transport) => {
        current = transport;
      },
    });
    const alternative = mayBeNextDoor(attempt) ? await tryAlternatives(walk, url, resolved.type, http) : undefined;
    return {
      helper,
      network,
      attempt,
      alternative,
      oauth: signIn && (await lookAtSignIn(walk, signIn, attempt, facts)),
      offer: await lookForOffer(walk, resolved.url, http, credential.describe(), attempt),
    };
  } finally {
    await prepared.credential?.dispose();
    await prepared.signIn?.close();
    await http.close();
  }
}

/** That the way cannot even be begun, for what it was to be gone with cannot be used. */
function unusable(walk: Walk, url: URL, error: unknown): NetworkFacts {
  const isFailure = ToolServerError.is(error) || (typeof error === "object" && error !== null && "code" in error);
  if (!isFailure || !("message" in error)) throw error;
  return {
    host: hostOf(url.hostname),
    port: portOf(url),
    isSecure: url.protocol === "https:" || url.protocol === "wss:",
    authorities: walk.ca === undefined ? [] : ["--ca"],
    addresses: [],
    failure: { stage: "settings", code: String(error.code), message: walk.redact(String(error.message)) },
  };
}
