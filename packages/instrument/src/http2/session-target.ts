import type { ClientHttp2Session } from "node:http2";
import { parseUrl } from "@wirescope/channelz/internal";
import { unixAddress } from "../sockets/addresses.js";

/** What a session was asked to connect to. */
export interface SessionTarget {
  /** `http://host:port` or `https://host:port`, without a port that goes without saying; or `unix:` and the path. */
  readonly target: string;
  /** The path of the Unix socket, which Node does not report for a client. */
  readonly path?: string | undefined;
}

/** What is looked at of the arguments with which a session is made. */
interface ConnectOptions {
  readonly protocol?: unknown;
  readonly path?: unknown;
  readonly createConnection?: unknown;
}

/** The target of what `http2.connect` is called with. */
export function sessionTargetOf(authority: unknown, options: unknown): SessionTarget {
  const { protocol, path, createConnection } = (typeof options === "object" ? (options ?? {}) : {}) as ConnectOptions;
  if (typeof path === "string" && createConnection === undefined) return { target: unixTarget(path), path };
  return { target: originOf(authority, protocol) };
}

/** The target of a session of which nothing is known but itself; empty if it does not say. */
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

/** The target of a Unix socket. */
export function unixTarget(path: string): string {
  const address = unixAddress(path);
  return `unix:${"path" in address ? address.path : path}`;
}

/** Node also takes an object that looks like a URL, and then makes up what it lacks. */
function originOf(authority: unknown, otherwise?: unknown): string {
  if (typeof authority === "string") return parseUrl(authority)?.origin ?? authority;
  const { protocol, hostname, host, port } = authority as Partial<URL>;
  const name = hostname || host || "localhost";
  const isBare = name.includes(":") && !name.startsWith("[") && hostname !== undefined;
  return originOf(
    `${protocol || otherwise || "https:"}//${isBare ? `[${name}]` : name}${port && hostname ? `:${port}` : ""}`,
  );
}
