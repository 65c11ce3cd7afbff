import type { SourcePosition } from "./finding.js";
import type { Template } from "./template.js";

/** The settings of an entry, before substitution. */
export type EntryOAuth = OAuthSettingsOf<OAuthText>;

/** The value of a setting, by its JSON type. */
interface OAuthValues<Text> {
  readonly string: Text;
  readonly "list of strings": readonly Text[];
  readonly number: number;
  readonly boolean: boolean;
  readonly "object of strings": readonly (readonly [name: string, value: Text])[];
  readonly "string or false": Text | false;
}

/** An OAuth setting: its JSON type, where it may be set, and what it means. */
export interface OAuthFieldSpec {
  readonly kind: keyof OAuthValues<string>;
  /** Whether an entry may have it too, and not only the user's own file. */
  readonly inEntry: boolean;
  /** Its line in docs/reference.md. */
  readonly help: string;
  /** The parameter of the authorization request that it sets. */
  readonly parameter?: string;
}

/** Every OAuth setting. */
export const oauthFieldTable = {
  url: {
    kind: "string",
    inEntry: false,
    help: "URL of the server that these settings are for; another server of the same name ignores them",
  },
  issuer: {
    kind: "string",
    inEntry: false,
    help: "issuer of the authorization server, if the tool server does not name it or names several",
  },
  clientId: {
    kind: "string",
    inEntry: true,
    help: "id of a client that is registered with the authorization server",
  },
  clientSecret: {
    kind: "string",
    inEntry: true,
    help: "secret of that client, or a command that prints it; in an entry not the secret itself, but a variable, `${NAME}`, or a command",
  },
  privateKeyFile: {
    kind: "string",
    inEntry: false,
    help: "PEM file of the private key of that client, for `private_key_jwt`",
  },
  keyId: { kind: "string", inEntry: false, help: "`kid` of that key" },
  algorithm: { kind: "string", inEntry: false, help: "algorithm of that key, such as `ES256`" },
  clientMetadataUrl: {
    kind: "string",
    inEntry: true,
    help: "https URL of a client-id metadata document to use as client id",
  },
  scopes: {
    kind: "list of strings",
    inEntry: true,
    help: "scopes to request instead of those that the server requests at first; a string with spaces is also accepted",
  },
  callbackHost: { kind: "string", inEntry: true, help: "host of the redirect URI: `127.0.0.1` or `localhost`" },
  callbackPort: { kind: "number", inEntry: true, help: "port of the redirect URI; default any free port" },
  authorizeParameters: {
    kind: "object of strings",
    inEntry: true,
    help: "parameters to add to the authorization request, such as `audience` or `login_hint`",
  },
  resource: {
    kind: "string or false",
    inEntry: true,
    help: "value of the `resource` parameter, or `false` to send none; default the identifier of the server",
  },
  assumePkce: {
    kind: "boolean",
    inEntry: true,
    help: "use PKCE although the metadata of the authorization server does not list S256",
  },
  prompt: {
    kind: "string",
    inEntry: true,
    help: "value of the `prompt` parameter, such as `consent` or `select_account`; default none",
    parameter: "prompt",
  },
  grant: {
    kind: "string",
    inEntry: false,
    help: "`client-credentials`, `workload` or `enterprise`; default: a user signs in",
  },
  assertionFile: { kind: "string", inEntry: false, help: "file of the platform token for `workload`" },
  identityProvider: {
    kind: "string",
    inEntry: false,
    help: "issuer of the identity provider for `enterprise`; sign in with `wirescope login --idp`",
  },
  identityTokenFile: { kind: "string", inEntry: false, help: "file of the identity token for `enterprise`" },
  identityTokenEndpoint: {
    kind: "string",
    inEntry: false,
    help: "token endpoint of the identity provider for `enterprise`",
  },
  identityClientId: { kind: "string", inEntry: false, help: "client id at the identity provider for `enterprise`" },
  bindsTokens: {
    kind: "boolean",
    inEntry: false,
    help: "bind tokens to a key (DPoP) even if the server does not ask for it",
  },
} as const;

const specs: Readonly<Record<string, OAuthFieldSpec>> = oauthFieldTable;

/** The name of an OAuth setting. */
export type OAuthSettingName = keyof typeof oauthFieldTable;

/**
 * The OAuth settings of one server, from the `oauth` object of its entry or from the user's own file. `Text` is a template with its
 * position before substitution, and a string after it.
 */
export type OAuthSettingsOf<Text> = {
  readonly [Name in OAuthSettingName]?: OAuthValues<Text>[(typeof oauthFieldTable)[Name]["kind"]] | undefined;
};

/** The maximum length of the value of a parameter. */
const maxParameterLength = 2048;
const prompts = ["none", "login", "consent", "select_account", "create"];

const valueRules: Partial<Record<OAuthSettingName, readonly [isValid: (value: string) => boolean, rule: string]>> = {
  issuer: [isWebUrl, "must be an https:// URL"],
  clientId: [(value) => /^[\x20-\x7e]+$/.test(value), "must contain printable ASCII characters only"],
  clientMetadataUrl: [(value) => /^https:\/\/[^/]+\/./.test(value), "must be an https:// URL with a path"],
  scopes: [(value) => /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/.test(value), 'must be scopes, without spaces, " and \\'],
  callbackHost: [(value) => value === "127.0.0.1" || value === "localhost", "must be 127.0.0.1 or localhost"],
  authorizeParameters: [
    (value) => value.length <= maxParameterLength && !/\p{Cc}/u.test(value),
    `must have values of at most ${maxParameterLength} characters, without line breaks`,
  ],
  resource: [(value) => /^[a-z][a-z0-9+.-]*:[^\s#]+$/i.test(value), "must be an absolute URI without a fragment"],
  prompt: [
    (value) => value.split(" ").every((each) => prompts.includes(each)),
    `must be one or several of ${prompts.join(", ")}`,
  ],
  grant: [
    (value) => ["client-credentials", "workload", "enterprise"].includes(value),
    "must be client-credentials, workload or enterprise",
  ],
  identityProvider: [isWebUrl, "must be an https:// URL"],
  identityTokenEndpoint: [isWebUrl, "must be an https:// URL"],
};

function isWebUrl(value: string): boolean {
  return /^https?:\/\/[^/]/.test(value);
}

/** What is wrong with the value of a setting, after substitution; undefined if nothing is. Does not quote the value. */
export function oauthValueProblem({ setting, field }: OAuthText, value: string): string | undefined {
  const [isValid, rule] = valueRules[setting] ?? [];
  return isValid === undefined || isValid(value) ? undefined : `${field} ${rule}.`;
}

/** A string of an OAuth setting, with its variables and its position in the file. */
export interface OAuthText extends SourcePosition {
  readonly setting: OAuthSettingName;
  /** The field within the entry, such as `oauth.authorizeParameters.audience`. */
  readonly field: string;
  readonly template: Template;
}

/** The consequence of each setting that disables a protection, as a sentence. */
export function weakenedBy({
  resource,
  assumePkce,
}: OAuthSettingsOf<unknown>): Partial<Record<OAuthSettingName, string>> {
  return {
    ...(assumePkce === true && {
      assumePkce: "If the authorization server ignores PKCE, a stolen code could be used.",
    }),
    ...(resource !== undefined && {
      resource: "The token may be valid for other servers than this one, and this one could use it there.",
    }),
  };
}

/** The settings with each text replaced, in the order of the table. */
export function mapOAuthSettings<A extends object, B>(
  settings: OAuthSettingsOf<A>,
  map: (text: A) => B,
): OAuthSettingsOf<B> {
  const mapped = Object.entries(settings).map(([name, value]) => {
    if (value === undefined || typeof value !== "object") return [name, value];
    const kind = specs[name]?.kind;
    if (kind === "list of strings") return [name, (value as readonly A[]).map(map)];
    if (kind !== "object of strings") return [name, map(value as A)];
    return [name, (value as readonly (readonly [string, A])[]).map(([parameter, text]) => [parameter, map(text)])];
  });
  return Object.fromEntries(mapped) as OAuthSettingsOf<B>;
}

/** The parameters of authorization requests that the settings set. */
export function authorizationParameters(settings: OAuthSettingsOf<string>): Readonly<Record<string, string>> {
  const own = Object.entries(settings).flatMap(([name, value]) => {
    const { parameter } = specs[name] ?? {};
    return parameter === undefined || typeof value !== "string" ? [] : [[parameter, value] as const];
  });
  return Object.fromEntries([...(settings.authorizeParameters ?? []), ...own]);
}

/** Every string of the settings of an entry, for substitution and checks. */
export function oauthTexts(settings: EntryOAuth | undefined): OAuthText[] {
  const texts: OAuthText[] = [];
  mapOAuthSettings(settings ?? {}, (text) => texts.push(text));
  return texts;
}
