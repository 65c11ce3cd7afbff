import { delimiter, isAbsolute } from "node:path";

/** The variables that every child gets where they are set: what programs need to run at all, and nothing that signs in. */
export const baseVariables: readonly string[] = [
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
];

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment of a child that must not see more than it should: `baseVariables` of the user, then what is given.
 * Proxy variables are not among the former, since their URLs may hold a password.
 */
export function childEnvironment(user: Environment, given: Environment = {}): Record<string, string> {
  const base = baseVariables.flatMap((name) => (user[name] === undefined ? [] : [[name, user[name]] as const]));
  return definedOf([...base.map(withoutRelativeFolders), ...Object.entries(given)]);
}

/**
 * The user's environment without the named variables, without those of Wirescope itself and without functions that a
 * shell exported; then what is given.
 */
export function scrubbedEnvironment(
  user: Environment,
  scrubbed: Iterable<string>,
  given: Environment = {},
): Record<string, string> {
  const hidden = new Set(scrubbed);
  const rest = Object.entries(user).filter(
    ([name, value]) => !hidden.has(name) && !name.startsWith("WIRESCOPE_") && !value?.startsWith("() {"),
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
