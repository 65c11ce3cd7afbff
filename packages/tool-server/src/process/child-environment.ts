import { delimiter, isAbsolute } from "node:path";
import { findSecretShapes, isSecretName } from "../secrets/recognize-secrets.js";
import { launcherVariables } from "./resolve-command.js";

/**
 * The variables that every child gets if they are set: those that programs need to run, and to reach the network behind a company's
 * proxy or CA. No credentials.
 */
const baseVariables: readonly string[] = [
  "HOME",
  "LANG",
  "LANGUAGE",
  "LC_ALL",
  "LC_CTYPE",
  "LC_MESSAGES",
  "LOGNAME",
  "PATH",
  "SHELL",
  "TERM",
  "TMPDIR",
  "TZ",
  "USER",
  "XDG_CACHE_HOME",
  "XDG_CONFIG_HOME",
  "XDG_DATA_HOME",
  "XDG_RUNTIME_DIR",
  "CURL_CA_BUNDLE",
  "NODE_EXTRA_CA_CERTS",
  "NODE_USE_ENV_PROXY",
  "NODE_USE_SYSTEM_CA",
  "REQUESTS_CA_BUNDLE",
  "SSL_CERT_DIR",
  "SSL_CERT_FILE",
  "ALL_PROXY",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "all_proxy",
  "http_proxy",
  "https_proxy",
  "no_proxy",
];

export type Environment = Readonly<Record<string, string | undefined>>;

/** The names and patterns, such as `npm_config_*`, of the user's variables that a child of this command gets if they are set. */
export function inheritedVariables(command: string | undefined): readonly string[] {
  return [...baseVariables, ...launcherVariables(command).map(({ shown }) => shown)];
}

/**
 * The environment of a child with restricted access: those of the user's `inheritedVariables` that contain no credential, and the
 * `given` variables.
 */
export function childEnvironment(user: Environment, command: string, given: Environment = {}): Record<string, string> {
  const inherited = inheritedOf(user, command).filter((entry) => !isCredential(entry));
  return definedOf([...inherited.map(withoutRelativeFolders), ...Object.entries(given)]);
}

/** The variables that the child does not get because their value contains a credential, unless they are `given`. */
export function withheldVariables(user: Environment, command: string, given: Environment = {}): string[] {
  const withheld = inheritedOf(user, command).filter(isCredential);
  return withheld.map(([name]) => name).filter((name) => !Object.hasOwn(given, name));
}

function inheritedOf(user: Environment, command: string): (readonly [string, string])[] {
  const base = new Set(baseVariables);
  const patterns = launcherVariables(command);
  return Object.entries(user).filter((entry): entry is [string, string] => {
    const [name, value] = entry;
    return value !== undefined && (base.has(name) || patterns.some(({ pattern }) => pattern.test(name)));
  });
}

/** Whether the name or the value suggests a credential: a registry token, a proxy with a password. */
function isCredential([name, value]: readonly [string, string]): boolean {
  if (isSecretName(name) || findSecretShapes(value).some(({ isCertain }) => isCertain)) return true;
  return /:\/\/[^\s/?#@]+@/.test(value) || /^[^\s/?#@:]+:[^\s/?#@]+@/.test(value);
}

/**
 * The user's environment without the `scrubbed` variables, those of Wirescope itself and exported shell functions, and with the `given`
 * ones.
 */
export function scrubbedEnvironment(
  user: Environment,
  scrubbed: Iterable<string>,
  given: Environment = {},
): Record<string, string> {
  const hidden = new Set(scrubbed);
  const rest = Object.entries(user).filter(
    // Inputs have a colon in their name, and are not environment variables. Windows ignores the case of variable names.
    ([name, value]) =>
      !name.startsWith("input:") && !hidden.has(name) && !/^wirescope_/i.test(name) && !value?.startsWith("() {"),
  );
  return definedOf([...rest.map(withoutRelativeFolders), ...Object.entries(given)]);
}

/** A relative folder in the user's PATH would let a project supply the programs that a child looks up by name. */
function withoutRelativeFolders([name, value]: readonly [string, string | undefined]): [string, string | undefined] {
  return [name, name === "PATH" ? value?.split(delimiter).filter(isAbsolute).join(delimiter) : value];
}

function definedOf(entries: readonly (readonly [string, string | undefined])[]): Record<string, string> {
  return Object.fromEntries(entries.filter((entry): entry is readonly [string, string] => entry[1] !== undefined));
}
