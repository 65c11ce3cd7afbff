/** One deviation of a server from the specifications. */
export interface QuirkDescription {
  /** What the server does. */
  readonly what: string;
  /** Where it has been observed. */
  readonly seen: string;
  /** How a good client handles it. */
  readonly client: string;
}

/** Every deviation that the servers support, each with a switch that is off by default. */
export const quirkTable = {
  "resource-without-metadata": {
    what: "The tool server has no protected-resource metadata.",
    seen: "servers of the revision 2025-03-26 and before",
    client: "uses the tool server's own origin as the authorization server, and still sends `resource` with its url.",
  },
  "resource-metadata-html": {
    what: "Every well-known URL of the tool server returns a page with status 200.",
    seen: "single-page apps, whose host returns its page for every path",
    client: "does not treat a page as metadata, and tries the next url.",
  },
  "resource-metadata-at-root": {
    what: "Protected-resource metadata is only at the root.",
    seen: "servers behind a framework that mounts it there",
    client: "tries the url with the path first, then the root.",
  },
  "resource-metadata-elsewhere": {
    what: "Protected-resource metadata is at a URL that only the challenge names.",
    seen: "servers behind a gateway that keeps the well-known paths to itself",
    client: "uses `resource_metadata` of the challenge before it tries other urls, even if it signs in before a 401.",
  },
  "resource-metadata-internal": {
    what: "The challenge names the metadata service of a cloud as the URL of its metadata.",
    seen: "attacks (CVE-2026-51994, CVE-2026-51995)",
    client: "connects to no private, link-local or metadata address other than that of the tool server.",
  },
  "resource-of-another": {
    what: "Protected-resource metadata describes another resource.",
    seen: "attacks, and copied servers",
    client: "does not use it, and requests no token for it.",
  },
  "resource-with-slash": {
    what: "The published resource ends with a slash.",
    seen: "servers whose library writes urls like that",
    client: "sends `resource` as it was published.",
  },
  "resource-challenge-silent": {
    what: "The challenge names neither metadata nor scope.",
    seen: "older servers, and proxies that send their own 401",
    client: "tries the well-known urls.",
  },
  "resource-refuses-all": {
    what: "The tool server returns 401 for every token.",
    seen: "servers that check the audience or the issuer wrongly",
    client: "refreshes once, asks the user at most once, and then stops.",
  },
  "resource-wants-more": {
    what: "The tool server returns 403 and asks for a new scope each time.",
    seen: "servers whose scopes do not match those of their authorization server",
    client: "requests the old and new scopes together, shows which are new, and stops after a few attempts.",
  },
  "resource-redirects-away": {
    what: "A request with a token gets a redirect to another origin.",
    seen: "attacks (CVE-2026-111769), and servers that moved",
    client: "sends the token to no other origin.",
  },
  "issuer-changes": {
    what: "After the first call, the tool server names another authorization server, and accepts no token of the first.",
    seen: "servers that moved, and attacks (CVE-2026-104850)",
    client: "sends no stored credential to the new one, and asks the user first.",
  },
  "metadata-html": {
    what: "The URL of RFC 8414 metadata returns a page with status 200; OpenID Connect metadata is valid.",
    seen: "identity providers with a page for every path",
    client: "tries the urls of OpenID Connect next.",
  },
  "metadata-openid-only": {
    what: "Only OpenID Connect metadata exists.",
    seen: "most enterprise identity providers",
    client: "tries the urls of OpenID Connect next.",
  },
  "metadata-absent": {
    what: "The authorization server has no metadata.",
    seen: "servers of the revision 2025-03-26",
    client: "uses no endpoint of a named authorization server without metadata.",
  },
  "metadata-failing": {
    what: "Metadata requests get 503.",
    seen: "overloaded servers",
    client: "reports it, and does not treat the metadata as absent.",
  },
  "metadata-huge": {
    what: "Metadata is endless.",
    seen: "attacks",
    client: "stops reading at a limit.",
  },
  "metadata-silent": {
    what: "Metadata requests get no response.",
    seen: "overloaded servers, and attacks",
    client: "times out.",
  },
  "metadata-redirects-away": {
    what: "Metadata requests get a redirect to another origin.",
    seen: "servers that moved, and attacks",
    client: "does not follow it.",
  },
  "metadata-redirects-within": {
    what: "Metadata requests get a redirect to another path.",
    seen: "servers behind a proxy that adds or removes a slash",
    client: "may follow it.",
  },
  "metadata-of-another": {
    what: "The metadata names another issuer.",
    seen: "mix-up attacks, and providers with one document for all tenants",
    client: "refuses it.",
  },
  "metadata-issuer-slash": {
    what: "The issuer in the metadata, and in the redirect, ends with a slash that was not published.",
    seen: "providers whose library writes urls like that",
    client: "accepts it if nothing else differs; the redirect must name the issuer of the metadata exactly.",
  },
  "pkce-absent": {
    what: "The metadata does not list PKCE methods.",
    seen: "providers that do not advertise PKCE, and those without it",
    client: "refuses to sign in there, as the protocol requires.",
  },
  "pkce-plain": {
    what: "The only PKCE method is plain.",
    seen: "old servers",
    client: "refuses to sign in there.",
  },
  "endpoint-http": {
    what: "The token endpoint is an http URL on another machine.",
    seen: "servers behind a proxy that do not know their own scheme",
    client: "sends nothing there.",
  },
  "endpoint-metadata-service": {
    what: "The token endpoint is the address of a cloud's metadata service.",
    seen: "attacks (CVE-2026-51995)",
    client: "does not connect to it.",
  },
  "endpoint-file": {
    what: "The authorization endpoint is a file: URL.",
    seen: "attacks (CVE-2025-6514)",
    client: "opens nothing.",
  },
  "endpoint-shell": {
    what: "The authorization endpoint contains characters that a shell would interpret.",
    seen: "attacks (CVE-2025-6514, CVE-2026-51997)",
    client: "refuses it, or parses and serializes the URL again; and starts the browser without a shell.",
  },
  "endpoint-other-origin": {
    what: "The authorization endpoint has another origin than the issuer.",
    seen: "attacks that use the sign-in page of a legitimate service, and legitimate services with two hosts",
    client: "shows the origin, and opens nothing before the user confirms it.",
  },
  "endpoint-with-parameters": {
    what: "The authorization endpoint contains its own parameters, among them `scope=admin` and `prompt=none`.",
    seen: "attacks; servers that choose a tenant or a policy by the query",
    client: "keeps parameters that OAuth does not define, and drops all others.",
  },
  "device-http": {
    what: "The device endpoint is an http URL on another machine.",
    seen: "servers behind a proxy, and attacks (CVE-2026-108716)",
    client: "sends nothing there: it refuses the metadata, or does not offer the device flow.",
  },
  "registration-absent": {
    what: "Clients cannot register.",
    seen: "most large providers",
    client: "says that a client has to be registered by hand, and how to configure it.",
  },
  "registration-refused": {
    what: "A registration gets 400.",
    seen: "servers with a list of accepted clients",
    client: "shows the error of the server, and does not retry forever.",
  },
  "registration-secret": {
    what: "A registration returns a client secret for Basic authentication.",
    seen: "servers without public clients",
    client: "uses it as the registration says, and stores it with the tokens.",
  },
  "takes-metadata-documents": {
    what: "Client ID metadata documents are accepted without being fetched.",
    seen: "servers of the revision 2025-11-25 and later",
    client: "prefers its document to a registration.",
  },
  "client-forgotten": {
    what: "A client is forgotten once it has its first tokens.",
    seen: "servers that delete registrations, or lost their database",
    client: "registers again, once, and asks the user once.",
  },
  "redirect-denied": {
    what: "The user denies the sign-in.",
    seen: "everywhere",
    client: "reports it, and does not ask again on its own.",
  },
  "redirect-script": {
    what: "The user denies the sign-in, and the error description is a script.",
    seen: "attacks (CVE-2025-58747, CVE-2025-62800, CVE-2026-1721)",
    client: "shows none of it on its page, and escapes it elsewhere.",
  },
  "redirect-wrong-issuer": {
    what: "The redirect names another issuer.",
    seen: "mix-up attacks",
    client: "does not use the code.",
  },
  "redirect-issuer-missing": {
    what: "The redirect names no issuer although the metadata announces it.",
    seen: "mix-up attacks",
    client: "does not use the code.",
  },
  "redirect-issuer-normalized": {
    what: "The redirect names the issuer with a trailing slash.",
    seen: "providers whose library writes urls like that",
    client: "does not use the code: issuers are compared character by character.",
  },
  "redirect-error-wrong-issuer": {
    what: "The redirect is an error, and names another issuer.",
    seen: "mix-up attacks",
    client: "does not show the error.",
  },
  "redirect-wrong-state": {
    what: "The redirect has another state.",
    seen: "attacks, and a second sign-in in the same browser",
    client: "rejects it, and keeps waiting for its own redirect.",
  },
  "redirect-twice-code": {
    what: "The redirect has two codes.",
    seen: "attacks",
    client: "uses neither.",
  },
  "token-expiry-unknown": {
    what: "Token responses have no expiry.",
    seen: "providers with long-lived tokens",
    client: "uses the token until it is refused.",
  },
  "token-expiry-text": {
    what: "The expiry is a string.",
    seen: "providers with old endpoints",
    client: "accepts it.",
  },
  "token-without-refresh": {
    what: "Token responses have no refresh token.",
    seen: "providers with long-lived tokens",
    client: "uses the token until it is refused, across restarts, and then asks the user.",
  },
  "token-ends-early": {
    what: "An access token is refused after five requests, although it is valid for an hour.",
    seen: "servers that restart without their keys",
    client: "refreshes it at 401, once for all waiting calls.",
  },
  "token-redirects-away": {
    what: "The token endpoint returns a redirect to another origin.",
    seen: "attacks, and servers that moved",
    client: "sends the code, the refresh token and its secret to no other origin.",
  },
  "token-echo": {
    what: "A refusal echoes the refresh token.",
    seen: "servers that repeat requests in their errors",
    client: "keeps it out of messages and logs.",
  },
  "refresh-keeps-token": {
    what: "A refresh returns no new refresh token, and the old one stays valid.",
    seen: "providers that do not rotate",
    client: "keeps the old one.",
  },
  "refresh-failing": {
    what: "A refresh gets 503.",
    seen: "overloaded servers",
    client: "retries with a backoff, and opens no browser.",
  },
  "refresh-dead": {
    what: "A refresh gets invalid_grant.",
    seen: "everywhere, after a sign-out, a password change or a reuse",
    client: "deletes the tokens if they have not changed meanwhile, and asks the user once.",
  },
  "refresh-dead-unclear": {
    what: "A refresh gets 400 invalid_request.",
    seen: "providers with nonstandard errors",
    client: "tries a few times, and then asks the user.",
  },
  "refresh-dead-in-200": {
    what: "A refresh gets 200 with an error.",
    seen: "providers that always return 200",
    client: "does not treat it as tokens, tries a few times, and then asks the user.",
  },
  "refresh-html": {
    what: "A refresh gets a page with 403.",
    seen: "firewalls in front of a provider",
    client: "tries a few times, and then asks the user.",
  },
  "revocation-absent": {
    what: "Tokens cannot be revoked.",
    seen: "many providers",
    client: "deletes them anyway, and says that they are valid until they expire.",
  },
} as const;

/** The name of a switch. */
export type Quirk = keyof typeof quirkTable;

/** The description of a switch. */
export function describeQuirk(quirk: Quirk): QuirkDescription {
  return quirkTable[quirk];
}

/** Whether a string is the name of a quirk. */
export function isQuirk(text: string): text is Quirk {
  return Object.hasOwn(quirkTable, text);
}
