/** One challenge of a WWW-Authenticate header. */
export interface Challenge {
  /** The scheme, in lower case. */
  readonly scheme: string;
  /** Its parameters, by name in lower case. If a name is repeated, the last one. */
  readonly parameters: ReadonlyMap<string, string>;
  /** All values of `resource_metadata`, in order: some servers send several in one challenge. */
  readonly resourceMetadata: readonly string[];
}

const maxChallengeLength = 8192;

// Sticky patterns, matched at the current position; each consumes at least one character, so parsing terminates.
const parameter = /([!#$%&'*+.^_`|~\w-]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s",]*))/y;
const token68 = /[ \t]+[\w.~+/-]+=*[ \t]*(?=,|$)/y;
const word = /[!#$%&'*+.^_`|~\w/=-]+/y;

/** Parses the challenges of a WWW-Authenticate header (RFC 9110, section 11.6.1); skips what it cannot parse. */
export function parseChallenges(header: string): Challenge[] {
  const text = header.slice(0, maxChallengeLength);
  const challenges: { scheme: string; parameters: Map<string, string>; resourceMetadata: string[] }[] = [];
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match !== null) at += match[0].length;
    return match;
  };
  while (at < text.length) {
    const found = challenges.length > 0 ? take(parameter) : null;
    if (found !== null) {
      const [, name = "", quoted, bare = ""] = found;
      const key = name.toLowerCase();
      const value = quoted?.replace(/\\(.)/g, "$1") ?? bare;
      const challenge = challenges.at(-1);
      challenge?.parameters.set(key, value);
      if (key === "resource_metadata" && value !== "") challenge?.resourceMetadata.push(value);
      continue;
    }
    const scheme = take(word)?.[0];
    if (scheme === undefined) at += 1;
    else {
      challenges.push({ scheme: scheme.toLowerCase(), parameters: new Map(), resourceMetadata: [] });
      // Credentials in place of parameters, such as `Negotiate YII=`.
      take(token68);
    }
  }
  return challenges;
}
