import { once } from "node:events";
import { isIP, type Socket, connect as tcpConnect } from "node:net";
import { createSecureContext, type SecureContext, type TLSSocket, connect as tlsConnect } from "node:tls";
import type { Target } from "./parse-target.js";

/** The TLS options of a client. Certificates and keys are PEM. */
export interface DialTlsOptions {
  /** The CAs to trust. Default: those of Node. */
  readonly ca?: string | Buffer | readonly (string | Buffer)[] | undefined;
  /** The client's certificate chain, for mutual TLS; with `key`. */
  readonly cert?: string | Buffer | undefined;
  /** The private key of `cert`. */
  readonly key?: string | Buffer | undefined;
  /** The passphrase of an encrypted `key`. */
  readonly passphrase?: string | undefined;
  /** The name to expect in the peer's certificate. Default: the host of the target. */
  readonly serverName?: string | undefined;
}

/** TLS options after validation. */
export interface PreparedTls {
  readonly secureContext: SecureContext;
  readonly serverName: string | undefined;
}

/** Reads certificates and keys, once for all connections. Throws a TypeError if they cannot be used. */
export function prepareTls({ serverName, ca, ...identity }: DialTlsOptions): PreparedTls {
  try {
    const authorities = ca === undefined || typeof ca === "string" || Buffer.isBuffer(ca) ? ca : [...ca];
    const secureContext = createSecureContext({
      ...identity,
      ...(authorities === undefined ? {} : { ca: authorities }),
    });
    return { secureContext, serverName };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TypeError(
      `A certificate or key of the TLS options cannot be used: ${why}. They must be PEM, and match.`,
      { cause },
    );
  }
}

/** A socket that is connecting to a target, and a promise that resolves when HTTP/2 can start on it. */
export interface OpeningSocket {
  readonly socket: Socket;
  /** Rejects with the failure of the connection or the handshake. */
  readonly ready: Promise<unknown>;
}

/** Starts a connection to a target, with TLS if it is prepared. */
export function openSocket(target: Target, tls: PreparedTls | undefined): OpeningSocket {
  const address = target.kind === "unix" ? { path: target.path } : { host: target.host, port: target.port };
  if (tls === undefined) {
    const socket = tcpConnect({ ...address, noDelay: true });
    return { socket, ready: once(socket, "connect") };
  }
  const host = target.kind === "unix" ? "localhost" : target.host;
  const socket = tlsConnect({
    ...address,
    secureContext: tls.secureContext,
    // The server name of a handshake cannot be an address, but the certificate is checked against it.
    servername: tls.serverName ?? (isIP(host) ? "" : host),
    ALPNProtocols: ["h2"],
  });
  return { socket, ready: handshake(socket) };
}

async function handshake(socket: TLSSocket): Promise<void> {
  await once(socket, "secureConnect");
  if (socket.alpnProtocol === "h2") return;
  socket.destroy();
  throw Object.assign(new Error("the peer speaks TLS, but not HTTP/2"), { code: "ERR_TLS_WITHOUT_HTTP2" });
}
