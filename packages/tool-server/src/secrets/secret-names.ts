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

const stores = new Set(
  "amqp clickhouse database db mariadb mongo mongodb mysql pg postgres postgresql rabbitmq redis sql".split(" "),
);

/** Whether the name of a variable, argument or header suggests a secret. */
export function isSecretName(name: string): boolean {
  // The working directory. If it counted as a secret, every path below it would be redacted.
  if (name === "PWD") return false;
  const words = wordsOf(name);
  const last = words.at(-1) ?? "";
  // The address of a database contains its password.
  if ((last === "url" || last === "uri") && words.some((word) => stores.has(word))) return true;
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
