import { notSecretVariable } from "../../config/template.js";
import type { CredentialDescription } from "../../connection-info.js";
import { findSecretShapes, isPlainAddress, isSecretName, isSetting } from "../../secrets/recognize-secrets.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import { type Credential, credentialClosed, giveUpUnchanged } from "./credential.js";
import {
  createHeaderFields,
  describeHeader,
  type HeaderFields,
  type HeaderSource,
  noHeaders,
  secretsOfHeader,
} from "./header-fields.js";

/** The server of a credential. */
export interface CredentialOwner {
  /** The name of the server, for messages. */
  readonly server: string;
  /** Secrets are added to it. */
  readonly secrets: Pick<SecretRegistry, "add" | "redact">;
}

/** Sends no credential. */
export function createNoCredential({ server }: Pick<CredentialOwner, "server">): Credential {
  const description = { kind: "none", summary: "none", headers: [], environment: [] } as const;
  return createFixedCredential(server, description);
}

/** The static headers that a server is sent. */
export interface HeaderCredentialOptions extends CredentialOwner {
  /** The headers of the entry, with their variables substituted. */
  readonly headers: readonly HeaderSource[];
}

/** Authenticates with configured headers: a bearer token, Basic, API keys, any names. Throws as `createHeaderFields` does. */
export function createHeaderCredential({ server, secrets, headers }: HeaderCredentialOptions): Credential {
  for (const { name, value } of headers) for (const secret of secretsOfHeader(name, value)) secrets.add(secret);
  const fields = createHeaderFields(headers, `The headers of the server ${JSON.stringify(server)}`);
  const description: CredentialDescription = {
    kind: "headers",
    summary: summaryOf("static header", headers),
    headers: headers.map(({ name, value, variables }) => describeHeader(name, value, "configuration", variables)),
    environment: [],
  };
  return createFixedCredential(server, description, fields);
}

/** The kind and the names of what is sent, such as `static headers (Authorization, X-Key)`; `none` if there is nothing. */
function summaryOf(kind: string, fields: readonly { readonly name: string }[]): string {
  if (fields.length === 0) return "none";
  return `${kind}${fields.length === 1 ? "" : "s"} (${fields.map(({ name }) => name).join(", ")})`;
}

/** An environment variable of a child process, and the user's variables in its value. */
export type VariableSource = HeaderSource;

/** The environment variables that a stdio server authenticates with. */
export interface EnvironmentCredentialOptions extends CredentialOwner {
  /** The variables of the entry, with the user's variables substituted. */
  readonly env: readonly VariableSource[];
  /** The variables whose values come from commands. Default: none. */
  readonly commands?: readonly { readonly name: string }[] | undefined;
  /** Obtains more variables before each start, such as those of `commands`. */
  readonly obtain?: ((signal: AbortSignal) => Promise<Readonly<Record<string, string>>>) | undefined;
}

/** Authenticates with the environment variables of a stdio server. */
export function createEnvironmentCredential(options: EnvironmentCredentialOptions): Credential {
  const { server, secrets, env, commands = [], obtain } = options;
  const register = (variable: VariableSource): void => {
    if (isSecretValue(variable, server)) secrets.add(variable.value, isCertain(variable));
  };
  env.forEach(register);
  const environment = Object.freeze(Object.fromEntries(env.map(({ name, value }) => [name, value])));
  const describe = (others: readonly VariableSource[]): CredentialDescription => ({
    kind: "environment",
    summary: summaryOf("environment variable", [...env, ...others, ...commands]),
    headers: [],
    environment: [
      ...[...env, ...others].map(({ name, variables = [] }) => ({ name, variables })),
      ...commands.map(({ name }) => ({ name, variables: [] })),
    ],
  });
  let description = describe([]);
  const fixed = createFixedCredential(server, description, noHeaders, environment);
  if (obtain === undefined) return fixed;
  const known = new Set([...env, ...commands].map(({ name }) => name));
  return {
    ...fixed,
    describe: () => description,
    async prepareEnvironment(signal) {
      const prepared = { ...environment, ...(await obtain(signal)) };
      const others = Object.entries(prepared).filter(([name]) => !known.has(name));
      const sources = others.map(([name, value]) => ({ name, value }));
      sources.forEach(register);
      description = describe(sources);
      return prepared;
    },
  };
}

/** Any value may be a secret, whatever its name, unless it is marked as none, or can only be a setting. */
function isSecretValue({ name, value, variables = [] }: VariableSource, server: string): boolean {
  const given = variables.filter((variable) => variable !== notSecretVariable);
  if (given.some(isSecretName)) return true;
  const isMarked = variables.length > given.length && given.length === 0;
  const isInName = server.toLowerCase().includes(value.toLowerCase());
  return !isMarked && !(isSecretName(name) ? isPlainAddress(value) : isInName || isSetting(value));
}

function isCertain({ name, value, variables = [] }: VariableSource): boolean {
  return [name, ...variables].some(isSecretName) || findSecretShapes(value).length > 0;
}

/** A credential that never changes, and so has nothing to retry with. */
function createFixedCredential(
  server: string,
  description: CredentialDescription,
  headers: HeaderFields = noHeaders,
  environment: Readonly<Record<string, string>> = {},
): Credential {
  let isClosed = false;
  return {
    kind: description.kind,
    async headers(request) {
      if (isClosed) throw credentialClosed(server);
      request?.signal?.throwIfAborted();
      return headers;
    },
    headersNow() {
      if (isClosed) throw credentialClosed(server);
      return headers;
    },
    environment: () => environment,
    refused: async (refusal) => giveUpUnchanged(refusal),
    describe: () => description,
    async dispose() {
      isClosed = true;
    },
  };
}
