import { parseUrl } from "@wirescope/channelz/internal";
/** The origin that an undici client connects to. */
export interface Origin {
  /** `http:` or `https:`. */
  readonly protocol: string;
  /** A name or an address; IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

/** The origin from undici's connect parameters or a URL. */
export function originOf({ protocol, hostname, port }: Pick<URL, "protocol" | "hostname" | "port">): Origin {
  return { protocol, host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) || (protocol === "https:" ? 443 : 80) };
}

/** The origin as a string that is equal for equal origins. */
export function originKey({ protocol, host, port }: Origin): string {
  return `${protocol}//${host}:${port}`;
}

/** The last result, because consecutive requests mostly have the same origin. */
let lastValue: unknown;
let lastOrigin: Origin | undefined;

/** The origin of a request, from a string or URL; undefined if it is not a URL. */
export function parseOrigin(value: unknown): Origin | undefined {
  if (value === lastValue) return lastOrigin;
  const url = parseUrl(String(value));
  lastOrigin = url && originOf(url);
  lastValue = value;
  return lastOrigin;
}
