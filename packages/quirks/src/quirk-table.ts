/** One way in which a server departs from what a client may expect. */
export interface QuirkDescription {
  /** What the server does. */
  readonly what: string;
  /** Where that is met. */
  readonly seen: string;
  /** What a good client does about it. */
  readonly client: string;
}

/** Each way in which the servers here depart from what a client may expect; a switch each, all off at first. */
export const quirkTable = {
  "resource-without-metadata": {
    what: "The tool server has no protected-resource metadata.",
    seen: "servers of the revision 2025-03-26 and before",
    client: "takes the tool server's own origin for its authorization server, and still sends `resource` with its url.",
  },
  "resource-metadata-html": {
    what: "Every well-known URL of the tool server returns a page with status 200.",
    seen: "single-page apps, whose host returns its page for every path",
    client: "does not take a page for metadata, and looks on.",
  },
  "resource-metadata-at-root": {
    what: "Protected-resource metadata is at the root alone.",
    seen: "servers behind a framework that mounts it there",
    client: "asks the url with the path first, then the root.",
  },
  "resource-metadata-elsewhere": {
    what: "Protected-resource metadata is where only the challenge says.",
    seen: "servers behind a gateway that keeps the well-known paths to itself",
    client: "goes by `resource_metadata` of the challenge before it guesses, also when it signs in unasked.",
  },
  "resource-metadata-internal": {
    what: "The challenge names the metadata service of a cloud as the place of its metadata.",
    seen: "attacks (CVE-2026-51994, CVE-2026-51995)",
    client: "connects to no private, link-local or metadata address that the tool server is not at itself.",
  },
  "resource-of-another": {
    what: "Protected-resource metadata is of another resource.",
    seen: "attacks, and servers that were copied",
    client: "does not use it, and asks for no token with it.",
  },
  "resource-with-slash": {
    what: "The published resource ends with a slash.",
    seen: "servers whose library writes urls that way",
    client: "sends `resource` as it was published.",
  },
  "resource-challenge-silent": {
    what: "The challenge names neither metadata nor scope.",
    seen: "older servers, and proxies that write 401 by themselves",
    client: "looks at the well-known urls.",
  },
  "resource-refuses-all": {
    what: "The tool server returns 401 for every token.",
    seen: "servers that check the audience or the issuer wrongly",
    client: "renews once, asks a person at most once, and then stops.",
  },
  "resource-wants-more": {
    what: "The tool server returns 403 and asks for a new scope each time.",
    seen: "servers whose scopes do not fit those of their authorization server",
    client: "asks for the union of old and new, says what is new, and stops after a few.",
  },
  "resource-redirects-away": {
    what: "A request with a token gets a redirect to another origin.",
    seen: "attacks (CVE-2026-111769), and servers that moved",
    client: "sends the token nowhere else.",
  },
  "issuer-changes": {
    what: "After the first call, the tool server names another authorization server, and takes no token of the first.",
    seen: "servers that moved, and attacks (CVE-2026-104850)",
    client: "sends nothing that it holds to the new one, and asks the user first.",
  },
  "metadata-html": {
    what: "The URL of RFC 8414 metadata returns a page with status 200; OpenID Connect metadata is valid.",
    seen: "identity providers with a page for every path",
    client: "looks on at the urls of OpenID Connect.",
  },
  "metadata-openid-only": {
    what: "Only the metadata of OpenID Connect is there.",
    seen: "most identity providers of enterprises",
    client: "looks on at the urls of OpenID Connect.",
  },
  "metadata-absent": {
    what: "The authorization server has no metadata at all.",
    seen: "servers of the revision 2025-03-26",
    client: "uses no endpoint of a server that was named and says nothing of itself.",
  },
  "metadata-failing": {
    what: "Metadata requests get 503.",
    seen: "servers in trouble",
    client: "says so, and does not take it for absent.",
  },
  "metadata-huge": {
    what: "Metadata has no end.",
    seen: "attacks",
    client: "reads so much and no more.",
  },
  "metadata-silent": {
    what: "Metadata requests get no response.",
    seen: "servers in trouble, and attacks",
    client: "gives up in time.",
  },
  "metadata-redirects-away": {
    what: "Metadata requests get a redirect to another origin.",
    seen: "servers that moved, and attacks",
    client: "does not follow it.",
  },
  "metadata-redirects-within": {
    what: "Metadata requests get a redirect to another path.",
    seen: "servers behind a proxy that adds or takes a slash",
    client: "may follow it.",
  },
  "metadata-of-another": {
    what: "The issuer in the metadata is another.",
    seen: "attacks that mix servers up, and providers with one document for all tenants",
    client: "refuses it.",
  },
  "metadata-issuer-slash": {
    what: "The issuer in the metadata ends with a slash that was not published.",
    seen: "providers whose library writes urls that way",
    client: "refuses it: issuers are compared letter by letter.",
  },
  "pkce-absent": {
    what: "The metadata does not list PKCE methods.",
    seen: "providers that have PKCE and do not say so, and those without",
    client: "refuses to sign in there, as the protocol demands.",
  },
  "pkce-plain": {
    what: "PKCE is offered as plain alone.",
    seen: "old servers",
    client: "refuses to sign in there.",
  },
  "endpoint-http": {
    what: "The token endpoint is of http on another machine.",
    seen: "servers behind a proxy that do not know their own scheme",
    client: "sends nothing there.",
  },
  "endpoint-metadata-service": {
    what: "The token endpoint is the address of a cloud's metadata service.",
    seen: "attacks (CVE-2026-51995)",
    client: "does not connect to it.",
  },
  "endpoint-file": {
    what: "The authorization endpoint is of file:.",
    seen: "attacks (CVE-2025-6514)",
    client: "opens nothing.",
  },
  "endpoint-shell": {
    what: "The authorization endpoint has characters that a shell would act on.",
    seen: "attacks (CVE-2025-6514, CVE-2026-51997)",
    client: "refuses it, or parses and serializes the URL again; and starts the browser without a shell.",
  },
  "endpoint-other-origin": {
    what: "The authorization endpoint is at another origin than the issuer.",
    seen: "attacks that borrow the sign-in page of an honest service, and honest services that use two hosts",
    client: "shows the origin, and opens nothing before a person confirmed it.",
  },
  "endpoint-with-parameters": {
    what: "The authorization endpoint carries parameters of its own, among them `scope=admin` and `prompt=none`.",
    seen: "attacks; servers that choose a tenant or a policy by the query",
    client: "keeps those that OAuth does not define, and drops all others.",
  },
  "device-http": {
    what: "The device endpoint is of http on another machine.",
    seen: "servers behind a proxy, and attacks (CVE-2026-108716)",
    client: "sends nothing there: it refuses the metadata, or does without the device flow.",
  },
  "registration-absent": {
    what: "Clients cannot register.",
    seen: "most large providers",
    client: "says that a client has to be registered by hand, and how to name it.",
  },
  "registration-refused": {
    what: "A registration gets 400.",
    seen: "servers with a list of clients that they take",
    client: "shows what the server says, and does not try for ever.",
  },
  "registration-secret": {
    what: "A registration gives a secret for Basic.",
    seen: "servers that know no public clients",
    client: "uses it as the registration says, and keeps it with the tokens.",
  },
  "takes-metadata-documents": {
    what: "Client-id metadata documents are taken, and not looked at.",
    seen: "servers of the revision 2025-11-25 and later",
    client: "prefers its document to a registration.",
  },
  "client-forgotten": {
    what: "A client is forgotten once it has its first tokens.",
    seen: "servers that delete registrations, or lost their database",
    client: "registers again, once, and asks a person once.",
  },
  "redirect-denied": {
    what: "The person denies.",
    seen: "everywhere",
    client: "says so, and does not ask again by itself.",
  },
  "redirect-script": {
    what: "The person denies, and the description of the error is a script.",
    seen: "attacks (CVE-2025-58747, CVE-2025-62800, CVE-2026-1721)",
    client: "shows no word of it on its page, and makes it harmless elsewhere.",
  },
  "redirect-wrong-issuer": {
    what: "The redirect names another issuer.",
    seen: "attacks that mix servers up",
    client: "does not use its code.",
  },
  "redirect-issuer-missing": {
    what: "The redirect names no issuer although the metadata promises it.",
    seen: "attacks that mix servers up",
    client: "does not use its code.",
  },
  "redirect-issuer-normalized": {
    what: "The redirect names the issuer with a trailing slash.",
    seen: "providers whose library writes urls that way",
    client: "does not use its code: issuers are compared letter by letter.",
  },
  "redirect-error-wrong-issuer": {
    what: "The redirect is an error, and names another issuer.",
    seen: "attacks that mix servers up",
    client: "shows nothing of the error.",
  },
  "redirect-wrong-state": {
    what: "The redirect has another state.",
    seen: "attacks, and a second sign-in in the same browser",
    client: "rejects it, and keeps waiting for its own.",
  },
  "redirect-twice-code": {
    what: "The redirect has two codes.",
    seen: "attacks",
    client: "uses neither.",
  },
  "token-expiry-unknown": {
    what: "Token responses have no expiry.",
    seen: "providers whose tokens live long",
    client: "uses the token until it is refused.",
  },
  "token-expiry-text": {
    what: "The expiry is a string.",
    seen: "providers with old endpoints",
    client: "reads it all the same.",
  },
  "token-without-refresh": {
    what: "There is no refresh token.",
    seen: "providers whose tokens live long",
    client: "uses the token until it is refused, at each start, and then asks a person.",
  },
  "token-ends-early": {
    what: "An access token is refused after five requests, though it should live for an hour.",
    seen: "servers that restart without their keys",
    client: "renews it at 401, once for all who wait.",
  },
  "token-redirects-away": {
    what: "The token endpoint returns a redirect to another origin.",
    seen: "attacks, and servers that moved",
    client: "sends the code, the refresh token and its secret nowhere else.",
  },
  "token-echo": {
    what: "A refusal echoes the refresh token.",
    seen: "servers that write requests into their errors",
    client: "keeps it out of messages and logs.",
  },
  "refresh-keeps-token": {
    what: "A refresh gives no new refresh token, and the old one stays good.",
    seen: "providers that do not rotate",
    client: "keeps the old one.",
  },
  "refresh-failing": {
    what: "A refresh gets 503.",
    seen: "servers in trouble",
    client: "tries again with growing pauses, and opens no browser.",
  },
  "refresh-dead": {
    what: "A refresh gets invalid_grant.",
    seen: "everywhere, after a sign-out, a change of password or a reuse",
    client: "drops the tokens if they still are those, and asks a person, once.",
  },
  "refresh-dead-unclear": {
    what: "A refresh gets 400 invalid_request.",
    seen: "providers with errors of their own",
    client: "tries a few times, and then asks a person.",
  },
  "refresh-dead-in-200": {
    what: "A refresh gets 200 with an error.",
    seen: "providers that always return 200",
    client: "does not take it for tokens, tries a few times, and then asks a person.",
  },
  "refresh-html": {
    what: "A refresh gets a page with 403.",
    seen: "firewalls in front of a provider",
    client: "tries a few times, and then asks a person.",
  },
  "revocation-absent": {
    what: "Tokens cannot be revoked.",
    seen: "many providers",
    client: "wipes them all the same, and says that the old one is still accepted, and until when.",
  },
} as const;

/** The name of a switch. */
export type Quirk = keyof typeof quirkTable;

/** What is known of a switch. */
export function describeQuirk(quirk: Quirk): QuirkDescription {
  return quirkTable[quirk];
}

/** Whether a string is the name of a quirk. */
export function isQuirk(text: string): text is Quirk {
  return Object.hasOwn(quirkTable, text);
}
