import { BlockList, isIP, isIPv4 } from "node:net";

/**
 * Parses a URL; undefined if the string is not one. Not `URL.canParse`: once V8 has optimised a call of it, Node 20
 * returns false for every string that is not ASCII.
 */
export function parseUrl(text: string, base?: string | URL): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

/** Decodes percent-encoding; a string with an invalid one stays as it is. */
export function decodeLeniently(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Whether the host of a URL is a loopback host. Resolves no names. */
export function isLoopbackHost(host: string): boolean {
  const name = hostOf(host);
  if (isIP(name) !== 0) return loopback.check(name, isIPv4(name) ? "ipv4" : "ipv6");
  return /(^|\.)localhost\.?$/i.test(name);
}

/** The host of a URL, without the brackets of an IPv6 address. */
export function hostOf(hostname: string): string {
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}

/** The origin of a URL; the scheme if it has none, as `javascript:` URLs. */
export function originOf({ origin, protocol }: URL): string {
  return origin === "null" ? protocol : origin;
}

/** The port of a URL, including the default port of its scheme. */
export function portOf({ port, protocol }: URL): number {
  if (port !== "") return Number(port);
  return protocol === "https:" || protocol === "wss:" ? 443 : 80;
}
