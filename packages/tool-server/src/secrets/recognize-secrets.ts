import { existsSync } from "node:fs";

/** A part of a string that looks like a secret. */
export interface SecretShape {
  readonly value: string;
  /** What it looks like, for a message: "a GitHub token". */
  readonly looksLike: string;
  /** Whether only secrets have this shape; otherwise it is just as random as one. */
  readonly isCertain: boolean;
}

const knownShapes: readonly (readonly [looksLike: string, pattern: RegExp])[] = [
  ["a private key", /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g],
  // It ends where the next one could start: otherwise the time would grow with the square of the length.
  ["a JSON Web Token", /\beyJ(?:(?!-eyJ)[\w-]){8,}\.[\w-]{8,}\.[\w-]*/g],
  ["a GitHub token", /\b(?:gh[oprsu]_[A-Za-z0-9]{20,}|github_pat_\w{20,})/g],
  ["a GitLab token", /\bgl(?:pat|dt|ptt|rt|cbt|soat)-[\w-]{16,}/g],
  ["a Slack token", /\bxox[abeoprs]-[\w-]{10,}|\bxapp-[\w-]{10,}/g],
  ["a key of the kind sk-", /\bsk-[\w-]{16,}/g],
  ["a Stripe key", /\b(?:[rs]k_(?:live|test)|whsec)_\w{16,}/g],
  ["an AWS access key", /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g],
  ["a Google key", /\bAIza[\w-]{30,}|\bya29\.[\w-]{20,}|\bGOCSPX-[\w-]{20,}/g],
  ["an npm token", /\bnpm_[A-Za-z0-9]{30,}/g],
  ["a PyPI token", /\bpypi-[\w-]{30,}/g],
  ["a Hugging Face token", /\bhf_[A-Za-z0-9]{20,}/g],
  ["a SendGrid key", /\bSG\.[\w-]{16,}\.[\w-]{16,}/g],
  ["a DigitalOcean token", /\bdo[opr]_v1_[a-f0-9]{32,}/g],
  ["a Shopify token", /\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{24,}/g],
  ["a Linear key", /\blin_(?:api|oauth)_\w{20,}/g],
  ["a Notion token", /\b(?:ntn_|secret_)[A-Za-z0-9]{30,}/g],
  ["a Vault token", /\bhv[bsr]\.[\w-]{20,}/g],
  ["a Figma token", /\bfigd_[\w-]{20,}/g],
  ["a Tavily key", /\btvly-[\w-]{20,}/g],
  ["an Atlassian token", /\bAT[AC]TT3x[\w=-]{20,}/g],
];

// The time of some patterns grows with the square of the length.
const maxTextLength = 16_384;

/**
 * The parts of a string that look like secrets, in its first 16,384 characters. Variable references such as `${NAME}` are ignored.
 */
export function findSecretShapes(text: string): SecretShape[] {
  const found: SecretShape[] = [];
  let rest = text.slice(0, maxTextLength);
  for (const [looksLike, pattern] of knownShapes) {
    rest = rest.replace(pattern, (value) => {
      found.push({ value, looksLike, isCertain: true });
      return " ";
    });
  }
  rest = rest.replace(
    /(\b\w[\w+.-]{0,20}:\/\/[^\s/?#:@]*:)([^\s/?#@]+)@/g,
    (whole, before: string, password: string) => {
      if (password.includes("${")) return whole;
      found.push({ value: password, looksLike: "a password in a URL", isCertain: true });
      return `${before} @`;
    },
  );
  for (const [value] of rest.replace(/\$\{[^}]*\}/g, " ").matchAll(/(?<![\w+=:-])[\w+=-]{24,}/g)) {
    if (isRandom(value)) found.push({ value, looksLike: "a random key", isCertain: false });
  }
  return found;
}

/** A string with `[redacted]` in place of what only secrets look like; recognized in its first 16,384 characters. */
export function withoutSecretShapes(text: string): string {
  let result = text;
  for (const { value, isCertain } of findSecretShapes(text))
    if (isCertain) result = result.replaceAll(value, "[redacted]");
  return result;
}

function isRandom(text: string): boolean {
  // Checksums and UUIDs are random but not secret.
  if (/^sha\d+-/.test(text) || /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) return false;
  const entropy = bitsPerCharacter(text);
  if (/^[0-9a-f]{32,}$/i.test(text)) return entropy > 3 && /\d/.test(text) && /[a-f]/i.test(text);
  // Hyphenated words have few digits and one case; keys mix all of them.
  return /[a-z]/.test(text) && /[A-Z]/.test(text) && /\d/.test(text) && entropy > 3.7 && maxWordLength(text) < 10;
}

/** The entropy of a string, in bits per character. */
export function bitsPerCharacter(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

function maxWordLength(text: string): number {
  return Math.max(0, ...[...text.matchAll(/[A-Z]?[a-z]+|[A-Z]+/g)].map(([word]) => word.length));
}

const placeholderForms = [
  "<.*>",
  "\\[.*\\]",
  "your[-_ ].*",
  "(?:my|insert|enter|put)[-_ ].*(?:token|key|secret|here).*",
  "(?:change|replace)[-_ ]?(?:me|this).*",
  "x{3,}",
  "\\.{3,}",
  "\\*{3,}",
  "todo|placeholder|dummy|token|api[-_]?key|secret|undefined|null",
];

const placeholderPattern = new RegExp(`^(?:${placeholderForms.join("|")})$`, "i");

/** Whether a value is a placeholder from an example. */
export function isPlaceholder(value: string): boolean {
  return placeholderPattern.test(value);
}

/** Whether a string has the form of a URL or of a database file path. */
export function isAddress(text: string): boolean {
  return /^(?:jdbc:)?(?:[a-z][a-z0-9+.-]*:\/\/|(?:file|sqlite):)/i.test(text);
}

/**
 * Whether a string is an address without credentials, such as `postgres://app@localhost/dev`: no password, and no parameter whose
 * name suggests a secret. The user of an https address counts as a credential, because keys are passed that way.
 */
export function isPlainAddress(text: string): boolean {
  if (!isAddress(text)) return false;
  const [, scheme = "", authority = ""] = /^(?:jdbc:)?([^:]+):(?:\/\/([^/?#]*))?/.exec(text) ?? [];
  const user = authority.includes("@") ? authority.slice(0, authority.lastIndexOf("@")) : undefined;
  if (user?.includes(":") || (user !== undefined && /^https?$/i.test(scheme))) return false;
  return ![...text.matchAll(/[?&;]([^?&;=]+)=[^?&;]/g)].some(([, name = ""]) => isSecretName(name));
}

const settings = new Set(
  "true false yes no on off none null auto default enabled disabled all debug info notice warn warning error trace verbose quiet silent test testing ci dev development local localhost stage staging prod production utf8 utf-8".split(
    " ",
  ),
);

/**
 * Whether a value can only be a setting: a usual word such as `production`, a number of at most 5 digits, an address without a path or
 * credentials, or a path in a folder that exists. Redacting such values would make messages unreadable.
 */
export function isSetting(value: string): boolean {
  if (settings.has(value.toLowerCase()) || /^\d{1,5}$/.test(value)) return true;
  if (/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+\/?$/i.test(value)) return true;
  const folder = /^(?:\/[^/:]+|[a-z]:[\\/])/i.exec(value)?.[0];
  return folder !== undefined && findSecretShapes(value).length === 0 && existsSync(folder);
}

const secretWords = new Set([
  "apikey",
  "auth",
  "authorization",
  "bearer",
  "cookie",
  "credential",
  "credentials",
  "dsn",
  "jwt",
  "key",
  "pass",
  "passphrase",
  "passwd",
  "password",
  "pat",
  "pwd",
  "secret",
  "secrets",
  "signature",
  "token",
]);

// The last word of a name says what the value is: KEY_FILE is a path, TOKEN_LIMIT a number, AUTH_URL an address.
const harmlessEndings = new Set(
  "budget count dir directory email enabled endpoint expiry file host id issuer length limit location max method min mode name path port provider region scope scopes size timeout ttl type uri url user username version".split(
    " ",
  ),
);

const databases = new Set(
  "amqp clickhouse database db mariadb mongo mongodb mysql pg postgres postgresql rabbitmq redis sql".split(" "),
);

/** Whether the name of a variable, argument or header suggests a secret. */
export function isSecretName(name: string): boolean {
  // The working directory. If it counted as a secret, every path below it would be redacted.
  if (name === "PWD") return false;
  const words = wordsOf(name);
  const last = words.at(-1) ?? "";
  // The address of a database contains its password.
  if ((last === "url" || last === "uri") && words.some((word) => databases.has(word))) return true;
  if (harmlessEndings.has(last)) return false;
  return words.some((word) => secretWords.has(word));
}

/** Whether a header with this name carries a credential: Authorization, cookies, sessions, keys, tokens, secrets, signatures. */
export function isCredentialHeader(name: string): boolean {
  // Only in a header: desktop environments have session variables too.
  const isSession = /session[-_]?(?:id)?$/i.test(name);
  return (isSession || isSecretName(name)) && name.toLowerCase() !== "idempotency-key";
}

/** Whether a header with this name selects a tenant or workspace; an account token is a credential instead. */
export function isTenantHeader(name: string): boolean {
  if (isCredentialHeader(name)) return false;
  return wordsOf(name).some((word) => /^(tenant|workspace|organi[sz]ation|org|account|project|team)$/.test(word));
}

function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
}
