import { isAuthorizationName, parseAuthorization } from "../../config/headers.js";
import type { CredentialDescription, TransportInfo } from "../../connection-info.js";
import { isTenantHeader } from "../../secrets/secret-names.js";
import type { SeenExchange } from "./recording-client.js";
import { credentialHeadersOf } from "./refusal-facts.js";
import type { Walk } from "./walk.js";

/** Tells those who watch of a request and its answer: its headers by name, and of their values what is no secret. */
export function tellExchange(
  walk: Walk,
  facts: TransportInfo,
  exchange: SeenExchange,
  credential: CredentialDescription,
): void {
  const { method, url, status, headers } = exchange;
  const sent = credentialHeadersOf(exchange, credential).map(({ header, value }) => shown(walk, header.name, value));
  const carried = sent.length === 0 ? "without a credential" : `with ${sent.join(", ")}`;
  const challenge = headers["www-authenticate"];
  const asked = challenge === undefined ? "" : `; it asks for: ${walk.say(challenge)}`;
  const place = walk.say(`${url.origin}${url.pathname}`);
  walk.report(facts, "info", `${method} ${place} ${carried} was answered with ${status}${asked}`);
}

function shown({ say }: Walk, name: string, value: string): string {
  if (isTenantHeader(name)) return `${name}: ${say(value, 100)}`;
  const scheme = isAuthorizationName(name) ? parseAuthorization(value).scheme : undefined;
  return `${name}: ${scheme === undefined ? "" : `${scheme} `}[redacted]`;
}
