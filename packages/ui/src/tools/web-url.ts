/** A web URL in its parts. */
export interface WebUrl {
  readonly href: string;
  readonly protocol: string;
  readonly host: string;
  /** Everything after the host. */
  readonly rest: string;
}

/** Parses an http or https URL without user and password; undefined for all others, such as `javascript:`. */
export function parseWebUrl(value: unknown): WebUrl | undefined {
  if (typeof value !== "string") return undefined;
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    return undefined;
  }
  const { href, protocol, host, username, password, pathname, search, hash } = url;
  if ((protocol !== "https:" && protocol !== "http:") || username !== "" || password !== "") return undefined;
  return { href, protocol, host, rest: `${pathname}${search}${hash}` };
}
