/** What the user's file may say of a server. Texts may hold `${NAME}`; `…File` names a file that holds the value. */
export interface OAuthEntry {
  /** The url of the server that this is for: another of the same name gets nothing of it. */
  readonly url?: string;
  readonly issuer?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly privateKeyFile?: string;
  readonly keyId?: string;
  readonly algorithm?: string;
  readonly clientMetadataUrl?: string;
  readonly scopes?: readonly string[];
  readonly redirectHost?: string;
  readonly redirectPort?: number;
  readonly grant?: string;
  readonly assertionFile?: string;
  readonly identityTokenFile?: string;
  readonly identityTokenEndpoint?: string;
  readonly identityClientId?: string;
  readonly bindsTokens?: boolean;
}

interface OAuthField {
  readonly kind: "string" | "number" | "boolean" | "list";
  readonly help: string;
}

/** Every field, with its kind and its line in docs/reference.md. */
export const oauthFields: Readonly<Record<keyof OAuthEntry, OAuthField>> = {
  url: {
    kind: "string",
    help: "URL of the server that these settings are for; another server of the same name ignores them",
  },
  issuer: {
    kind: "string",
    help: "issuer of the authorization server, if the tool server does not name it or names several",
  },
  clientId: { kind: "string", help: "id of a client that is registered with the authorization server" },
  clientSecret: { kind: "string", help: "secret of that client" },
  privateKeyFile: { kind: "string", help: "PEM file of the private key of that client, for `private_key_jwt`" },
  keyId: { kind: "string", help: "`kid` of that key" },
  algorithm: { kind: "string", help: "algorithm of that key, such as `ES256`" },
  clientMetadataUrl: { kind: "string", help: "https URL of a client-id metadata document to use as client id" },
  scopes: { kind: "list", help: "scopes to request in addition to those that the server asks for" },
  redirectHost: { kind: "string", help: "host of the redirect URI: `127.0.0.1` or `localhost`" },
  redirectPort: { kind: "number", help: "port of the redirect URI; default any free port" },
  grant: { kind: "string", help: "`client-credentials`, `workload` or `enterprise`; default a person signs in" },
  assertionFile: { kind: "string", help: "file of the platform token for `workload`" },
  identityTokenFile: { kind: "string", help: "file of the identity token for `enterprise`" },
  identityTokenEndpoint: { kind: "string", help: "token endpoint of the identity provider for `enterprise`" },
  identityClientId: { kind: "string", help: "client id at the identity provider for `enterprise`" },
  bindsTokens: { kind: "boolean", help: "bind tokens to a key (DPoP) even if the server does not ask for it" },
};
