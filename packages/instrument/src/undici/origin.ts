import { parseUrl } from "@wirescope/channelz/internal";
/** The origin that a client of undici connects to. */
export interface Origin {
  /** `http:` or `https:`. */
  readonly protocol: string;
  /** A name or an address; IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

/** The origin of a client, as its messages or a url give it. */
export function originOf({ protocol, hostname, port }: Pick<URL, "protocol" | "hostname" | "port">): Origin {
  return { protocol, host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) || (protocol === "https:" ? 443 : 80) };
}

/** The origin as a string that is equal for equal origins. */
export function originKey({ protocol, host, port }: Origin): string {
  return `${protocol}//${host}:${port}`;
}

/** Most requests of a process have the origin of the one before. */
let lastValue: unknown;
let lastOrigin: Origin | undefined;

/** The origin of a request, which may be a string or a URL; undefined if it is none. */
export function parseOrigin(value: unknown): Origin | undefined {
  if (value === lastValue) return lastOrigin;
  const url = parseUrl(String(value));
  lastOrigin = url && originOf(url);
  lastValue = value;
  return lastOrigin;
}
