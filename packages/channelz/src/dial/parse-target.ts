import { isIP, isIPv6 } from "node:net";
import { domainToASCII } from "node:url";
import { ChannelzError } from "../errors.js";
import { printableText } from "../text/printable-text.js";

/** A host and a port, with the TLS setting and path prefix of a URL. */
export interface TcpTarget {
  readonly kind: "tcp";
  /** A name or an address; IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  /** Whether the scheme of a URL selected TLS or plaintext; undefined without a scheme. */
  readonly isTls: boolean | undefined;
  /** The prefix of the path of a method: empty, or a path without a trailing slash. */
  readonly pathPrefix: string;
}

/** A Unix domain socket. */
export interface UnixTarget {
  readonly kind: "unix";
  readonly path: string;
}

/** The address of a peer. */
export type Target = TcpTarget | UnixTarget;

const loopback = "127.0.0.1";

/**
 * Parses the address of a peer: `host:port`, `[::1]:port`, `:port` or `port` (on loopback), `unix:/path`, `unix:relative`, `unix:///path`,
 * or an http or https URL. Throws TARGET_INVALID for anything else.
 */
export function parseTarget(text: string): Target {
  const target = text.trim();
  if (target === "") throw invalid(text, "it is empty");
  if (/^unix:/i.test(target)) return parseUnix(text, target.slice("unix:".length));
  if (/^https?:\/\//i.test(target)) return parseUrl(text, target);
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(target);
  if (scheme) throw invalid(text, `the scheme ${scheme[1]} is not one of unix, http and https`);
  return { kind: "tcp", ...parseHostPort(text, target), isTls: undefined, pathPrefix: "" };
}

/** A target as people write it. */
export function formatTarget(target: Target): string {
  if (target.kind === "unix") return `unix:${target.path}`;
  const scheme = target.isTls === undefined ? "" : target.isTls ? "https://" : "http://";
  return `${scheme}${formatAuthority(target)}${target.pathPrefix}`;
}

/** The host and port of a target, with IPv6 in brackets. */
export function formatAuthority({ host, port }: Pick<TcpTarget, "host" | "port">): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Whether a target is on this machine. */
export function isLocal(target: Target): boolean {
  if (target.kind === "unix") return true;
  const host = target.host.toLowerCase();
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

function parseUnix(text: string, rest: string): UnixTarget {
  let path = rest;
  if (rest.startsWith("//")) {
    // As in a URL, the authority would be between the second and the third slash.
    path = rest.slice(2);
    if (!path.startsWith("/")) throw invalid(text, "after unix:// comes an absolute path, with a third slash");
  }
  if (path === "") throw invalid(text, "the path of the socket is missing");
  if (path.includes("\0")) throw invalid(text, "the path of the socket contains a null character");
  return { kind: "unix", path };
}

function parseUrl(text: string, target: string): TcpTarget {
  let url: URL;
  try {
    url = new URL(target);
  } catch {
    throw invalid(text, "it is not a URL");
  }
  // The message must not repeat a password, so this one shows no text.
  if (url.username !== "" || url.password !== "") {
    throw new ChannelzError(
      "TARGET_INVALID",
      `The target is invalid: a URL with a user name or password is not accepted. Use a token or a header. ${examples}`,
    );
  }
  if (url.search !== "" || url.hash !== "") throw invalid(text, "a query or fragment is not allowed");
  const isTls = url.protocol === "https:";
  return {
    kind: "tcp",
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? (isTls ? 443 : 80) : parsePort(text, url.port),
    isTls,
    pathPrefix: url.pathname.replace(/\/+$/, ""),
  };
}

function parseHostPort(text: string, target: string): { host: string; port: number } {
  if (/^\d+$/.test(target)) return { host: loopback, port: parsePort(text, target) };
  if (target.startsWith("[")) {
    const match = /^\[([^\]]*)\](?::(.*))?$/.exec(target);
    if (!match) throw invalid(text, "the bracket is not closed, or is not followed by a port");
    const host = match[1] ?? "";
    if (!isIPv6(host)) throw invalid(text, "the brackets do not contain an IPv6 address");
    if (match[2] === undefined) throw invalid(text, "the port is missing");
    return { host, port: parsePort(text, match[2]) };
  }
  const colon = target.lastIndexOf(":");
  if (colon === -1) throw invalid(text, "the port is missing");
  const host = target.slice(0, colon);
  if (host.includes(":")) throw invalid(text, "it has several colons; put an IPv6 address in brackets");
  const port = parsePort(text, target.slice(colon + 1));
  if (host === "") return { host: loopback, port };
  const ascii = /[\s/\\?#@%]/.test(host) ? "" : domainToASCII(host);
  if (ascii === "") throw invalid(text, `"${printableText(host, 80)}" is not the name or address of a host`);
  return { host: ascii, port };
}

function parsePort(text: string, digits: string): number {
  const port = Number(digits);
  if (!/^\d+$/.test(digits) || port < 1 || port > 65_535) {
    throw invalid(text, `"${printableText(digits, 20)}" is not a port from 1 to 65535`);
  }
  return port;
}

const examples = "Examples: 127.0.0.1:4690, [::1]:4690, :4690, unix:/run/app.sock, https://example.com.";

function invalid(text: string, reason: string): ChannelzError {
  return new ChannelzError(
    "TARGET_INVALID",
    `The target "${printableText(text, 120)}" is invalid: ${reason}. ${examples}`,
  );
}
