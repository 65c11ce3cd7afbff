import { parseChallenges } from "../../auth/credentials/challenge.js";
import { carriesCredential, diagnoseRefusal } from "../../auth/credentials/diagnose-refusal.js";
import type { CredentialDescription, HeaderDescription } from "../../connection-info.js";
import { isTenantHeader } from "../../secrets/secret-names.js";
import type { ChallengeFacts, RefusalFacts } from "../facts.js";
import type { SeenExchange } from "./recording-client.js";
import { tokenFactsOf } from "./token-facts.js";
import type { Walk } from "./walk.js";

/** What can be seen of a 401 or 403: what was sent, what the server said, and what follows from both. */
export function refusalFactsOf(
  walk: Walk,
  server: URL,
  exchange: SeenExchange,
  credential: CredentialDescription,
): RefusalFacts {
  const { status, headers } = exchange;
  const sent = credentialHeadersOf(exchange, credential);
  const now = walk.clock.now();
  const serverNow = Date.parse(headers.date ?? "");
  return {
    status,
    now,
    findings: diagnoseRefusal({
      refusal: {
        status,
        sent: Object.fromEntries(sent.map(({ header, value }) => [header.name, value])),
        attempt: 1,
        challenge: headers["www-authenticate"],
        date: headers.date,
      },
      credential,
      now,
      redact: walk.redact,
    }),
    carriesCredential: sent.some(({ header }) => carriesCredential(header)),
    challenge: challengeFactsOf(walk, headers["www-authenticate"]),
    tokens: sent.flatMap(({ header, value }) => tokenFactsOf(header, value, server, walk.say) ?? []),
    tenants: sent
      .filter(({ header }) => isTenantHeader(header.name))
      .map(({ header, value }) => ({ header: header.name, value: walk.say(value, 100) })),
    skewMs: Number.isNaN(serverNow) ? undefined : serverNow - now,
  };
}

interface SentHeader {
  readonly header: HeaderDescription;
  readonly value: string;
}

/** What a request carried of its credential, and not of HTTP and the protocol. */
export function credentialHeadersOf({ sent }: SeenExchange, credential: CredentialDescription): SentHeader[] {
  return Object.entries(sent).flatMap(([name, value]) => {
    const known = credential.headers.find((header) => header.name.toLowerCase() === name.toLowerCase());
    if (known !== undefined) return [{ header: known, value }];
    if (!/^(authorization|dpop)$/i.test(name)) return [];
    const from = credential.kind === "oauth" ? "oauth" : "configuration";
    return [{ header: { name, from, scheme: undefined, variables: [] }, value }];
  });
}

function challengeFactsOf({ say }: Walk, header: string | undefined): ChallengeFacts | undefined {
  if (header === undefined) return undefined;
  const challenges = parseChallenges(header);
  const parameterOf = (name: string): string | undefined => {
    const found = challenges.map(({ parameters }) => parameters.get(name)).find((value) => value !== undefined);
    return found === undefined ? undefined : say(found);
  };
  return {
    schemes: challenges.map(({ scheme }) => say(scheme, 40)),
    error: parameterOf("error"),
    description: parameterOf("error_description"),
    scopes: (parameterOf("scope") ?? "").split(" ").filter(Boolean),
    resourceMetadata: challenges.flatMap(({ resourceMetadata }) => resourceMetadata.map((place) => say(place))),
  };
}
