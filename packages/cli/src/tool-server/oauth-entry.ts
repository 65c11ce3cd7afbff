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

/** The kind of each field. */
export const oauthFields: Readonly<Record<keyof OAuthEntry, "string" | "number" | "boolean" | "list">> = {
  url: "string",
  issuer: "string",
  clientId: "string",
  clientSecret: "string",
  privateKeyFile: "string",
  keyId: "string",
  algorithm: "string",
  clientMetadataUrl: "string",
  scopes: "list",
  redirectHost: "string",
  redirectPort: "number",
  grant: "string",
  assertionFile: "string",
  identityTokenFile: "string",
  identityTokenEndpoint: "string",
  identityClientId: "string",
  bindsTokens: "boolean",
};
