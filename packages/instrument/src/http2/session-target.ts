import type { ClientHttp2Session } from "node:http2";
import { parseUrl } from "@wirescope/channelz/internal";
import { unixAddress } from "../sockets/addresses.js";

export interface SessionTarget {
  /** `http://host:port` or `https://host:port`, without a default port; or `unix:` and the path. */
  readonly target: string;
  /** The path of the Unix socket, which Node does not report for a client. */
  readonly path?: string | undefined;
}

/** The options of `http2.connect` that are used. */
interface ConnectOptions {
  readonly protocol?: unknown;
  readonly path?: unknown;
  readonly createConnection?: unknown;
}

/** The target for the arguments of `http2.connect`. */
export function sessionTargetOf(authority: unknown, options: unknown): SessionTarget {
  const { protocol, path, createConnection } = (typeof options === "object" ? (options ?? {}) : {}) as ConnectOptions;
  if (typeof path === "string" && createConnection === undefined) return { target: unixTarget(path), path };
  return { target: originOf(authority, protocol) };
}

/** The target of a session whose `http2.connect` arguments are unknown, from Node's internals; empty if they are missing. */
export function targetOfSession(session: ClientHttp2Session): string {
  const internals = session as unknown as Readonly<Record<symbol, unknown>>;
  const [authority, protocol] = ["authority", "protocol"].map((name) => {
    const key = Object.getOwnPropertySymbols(session).find(({ description }) => description === name);
    return key && internals[key];
  });
  return typeof authority === "string" && typeof protocol === "string" ? originOf(`${protocol}//${authority}`) : "";
}

/** The target of a subchannel: `host:port`, always with the port, or `unix:` and the path. */
export function addressOfTarget(target: string): string {
  const url = /^https?:/.test(target) ? parseUrl(target) : undefined;
  if (url === undefined) return target;
  return url.port === "" ? `${url.hostname}:${url.protocol === "http:" ? 80 : 443}` : url.host;
}

export function unixTarget(path: string): string {
  const address = unixAddress(path);
  return `unix:${"path" in address ? address.path : path}`;
}

/** Node also accepts an object with the properties of a URL, and defaults for missing ones. */
function originOf(authority: unknown, defaultProtocol?: unknown): string {
  if (typeof authority === "string") return parseUrl(authority)?.origin ?? authority;
  const { protocol, hostname, host, port } = authority as Partial<URL>;
  const name = hostname || host || "localhost";
  const isBare = name.includes(":") && !name.startsWith("[") && hostname !== undefined;
  return originOf(
    `${protocol || defaultProtocol || "https:"}//${isBare ? `[${name}]` : name}${port && hostname ? `:${port}` : ""}`,
  );
}
