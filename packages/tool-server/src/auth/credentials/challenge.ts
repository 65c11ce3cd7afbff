/** What a server asks for in WWW-Authenticate. */
export interface Challenge {
  /** The scheme, in lower case. */
  readonly scheme: string;
  /** Its parameters, by name in lower case. Of several with one name, the last. */
  readonly parameters: ReadonlyMap<string, string>;
  /** All values of `resource_metadata`, in order: some servers name several places in one challenge. */
  readonly resourceMetadata: readonly string[];
}

const longestChallenge = 8192;

// One after the other at the place that is reached; each takes at least one character, so that reading ends.
const parameter = /([!#$%&'*+.^_`|~\w-]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s",]*))/y;
const word = /[!#$%&'*+.^_`|~\w/=-]+/y;

/** Reads the challenges of a WWW-Authenticate header (RFC 9110, section 11.6.1); what cannot be read is passed over. */
export function parseChallenges(header: string): Challenge[] {
  const text = header.slice(0, longestChallenge);
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
    else challenges.push({ scheme: scheme.toLowerCase(), parameters: new Map(), resourceMetadata: [] });
  }
  return challenges;
}
