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

// What stands last in the name says what the value is: KEY_FILE is a path, TOKEN_LIMIT a number, AUTH_URL an address.
const harmlessEndings = new Set(
  "budget count dir directory email enabled endpoint expiry file host id issuer length limit location max method min mode name path port provider region scope scopes size timeout ttl type uri url user username version".split(
    " ",
  ),
);

const stores = new Set(
  "amqp clickhouse database db mariadb mongo mongodb mysql pg postgres postgresql rabbitmq redis sql".split(" "),
);

/** Whether a variable, an argument or a header with this name holds a secret, as far as a name can tell. */
export function isSecretName(name: string): boolean {
  // The working directory. Were it taken for a secret, the path of each file below it would be unreadable.
  if (name === "PWD") return false;
  const words = wordsOf(name);
  const last = words.at(-1) ?? "";
  // The address of a database carries its password.
  if ((last === "url" || last === "uri") && words.some((word) => stores.has(word))) return true;
  if (harmlessEndings.has(last)) return false;
  return words.some((word) => secretWords.has(word));
}

/** Whether a header with this name carries a credential: Authorization, cookies, sessions, keys, tokens, secrets, signatures. */
export function isCredentialHeader(name: string): boolean {
  // Only in a header: the variables of a desktop have sessions of their own.
  const isSession = /session[-_]?(?:id)?$/i.test(name);
  return (isSession || isSecretName(name)) && name.toLowerCase() !== "idempotency-key";
}

/** Whether a header with this name chooses a tenant, a workspace or the like; the token of an account is a credential. */
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
