import { randomBytes } from "node:crypto";
import type { ListenLimits, ListenTls } from "@wirescope/channelz";
import type { CorsAdditions, listenChannelz } from "@wirescope/channelz/listener";

/** The gateway's address, and which clients it accepts. */
export interface GatewayListenOptions {
  /** Default `127.0.0.1`. An address that other machines can reach requires TLS, and a token or client certificates. */
  readonly host?: string | undefined;
  /** Default 0: any free port. */
  readonly port?: number | undefined;
  /** A Unix socket, instead of host and port. */
  readonly path?: string | undefined;
  readonly tls?: ListenTls | undefined;
  /** The bearer token that every request must carry; false for none, on the loopback interface only. Default: a new token. */
  readonly token?: string | false | undefined;
  /** A file that contains the token, instead of `token`. */
  readonly tokenFile?: string | undefined;
  /** Additional host names that the Host header may have. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Additional origins whose pages may call the gateway. */
  readonly allowedOrigins?: readonly string[] | undefined;
  readonly limits?: Partial<ListenLimits> | undefined;
}

/** Which requests `Gateway.handler` accepts. */
export type GatewayAccessOptions = Pick<
  GatewayListenOptions,
  "token" | "tokenFile" | "allowedHosts" | "allowedOrigins"
>;

/** Request headers that MCP clients in browsers may send. */
const corsRequestHeaders = [
  "mcp-session-id",
  "mcp-protocol-version",
  "mcp-method",
  "mcp-name",
  "last-event-id",
  "accept",
  "traceparent",
  "tracestate",
];

/** The token for these options; undefined if no token is required, or it is in a file. */
export function tokenOf({ token, tokenFile }: GatewayAccessOptions): string | undefined {
  if (token === false || tokenFile !== undefined) return token === false ? undefined : token;
  return token ?? createToken();
}

export function createToken(): string {
  return randomBytes(24).toString("base64url");
}

/** The listener's options, with enough connections for streams that stay open. `headers` are additional request headers to allow. */
export function listenerOptionsOf(
  listen: GatewayListenOptions,
  token: string | undefined,
  headers: readonly string[],
): Parameters<typeof listenChannelz>[1] {
  const { host, port, path, tls, tokenFile, allowedHosts, allowedOrigins, limits } = listen;
  return {
    ...(host !== undefined && { host }),
    ...(port !== undefined && { port }),
    ...(path !== undefined && { path }),
    ...(tls !== undefined && { tls }),
    ...(token !== undefined && { token }),
    ...(tokenFile !== undefined && { tokenFile }),
    ...(allowedHosts !== undefined && { allowedHosts }),
    ...(allowedOrigins !== undefined && { allowedOrigins }),
    limits: { maxConnections: 8192, ...limits },
    cors: corsOf(headers),
  };
}

/** What pages of allowed origins may send and read. `headers` are additional request headers. */
export function corsOf(headers: readonly string[]): CorsAdditions {
  return {
    methods: ["DELETE"],
    requestHeaders: [...corsRequestHeaders, ...headers],
    responseHeaders: ["mcp-session-id"],
  };
}

/**
 * The URL or address of a listener as clients reach it. The wildcard address, to which no client can connect, is replaced by `hostName`
 * or the loopback address.
 */
export function reachableAddress(address: string, hostName: string | undefined): string {
  return address
    .replace(/(?<=^|\/\/)0\.0\.0\.0(?=:\d+$)/, () => hostName ?? "127.0.0.1")
    .replace(/(?<=^|\/\/)\[::\](?=:\d+$)/, () => hostName ?? "[::1]");
}
