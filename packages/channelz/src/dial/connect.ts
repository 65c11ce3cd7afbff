import type { ChannelzPackage } from "../channelz-package.js";
import { type ChannelzClient, createChannelzClient, defaultTimeoutMs } from "../client/client.js";
import { ChannelzError } from "../errors.js";
import type { OwnConnection } from "../own-connection.js";
import { createGrpcTransport } from "./grpc-transport.js";
import { type DialTlsOptions, openSocket, prepareTls } from "./open-socket.js";
import { formatAuthority, formatTarget, isLocal, parseTarget, type Target } from "./parse-target.js";
import { createPeerSession } from "./peer-session.js";

// Shorter than the default timeout of a call, so that a port without TLS is distinguished from a slow peer.
const maxConnectMs = 5000;

/** Options of a connection to a peer. */
export interface ConnectChannelzOptions {
  /** Use TLS: `true` for the defaults. Default: only for an https target. */
  readonly tls?: DialTlsOptions | true | undefined;
  /** A bearer token for every call. */
  readonly token?: string | undefined;
  /** Send a token, or an `authorization` or `cookie` header, unencrypted to another machine. Default false. */
  readonly allowInsecureToken?: boolean | undefined;
  /** Headers of every call. */
  readonly headers?: HeadersInit | undefined;
  /** The timeout of a call, including its connection, in milliseconds. Default 10,000; 0 for none. */
  readonly timeoutMs?: number | undefined;
  /** The package that the peer serves. Default: detected at the first call. */
  readonly package?: ChannelzPackage | undefined;
  /** The maximum size of a response, in bytes. Default 64 MiB. */
  readonly maxMessageBytes?: number | undefined;
}

/** A Source with its own connection, which is opened at the first read and reopened after it was lost. */
export interface ChannelzConnection extends ChannelzClient, AsyncDisposable {
  /** The target, as people write it. */
  readonly target: string;
  /** This end of the connection, to compare with the peer's report; undefined while none is open. */
  ownConnection(): OwnConnection | undefined;
  /** Ends the connection and every read in progress; resolves when its sockets are closed. */
  close(): Promise<void>;
}

/**
 * Reads Channelz of the process at `target`, with gRPC over HTTP/2: TCP, TLS or a Unix socket.
 * Nothing is opened before the first read. An open connection does not keep the process alive. Throws TARGET_INVALID,
 * TOKEN_UNUSABLE or TOKEN_EXPOSED, and a TypeError for unusable certificates or keys.
 */
export function connectChannelz(target: string, options: ConnectChannelzOptions = {}): ChannelzConnection {
  const parsed = parseTarget(target);
  const label = formatTarget(parsed);
  const tlsOptions = tlsOf(parsed, label, options.tls);
  const tls = tlsOptions && prepareTls(tlsOptions);
  const headers = headersOf(parsed, label, options, tls !== undefined);
  const timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
  const origin = originOf(parsed, tls !== undefined);
  const session = createPeerSession(origin, () => openSocket(parsed, tls), Math.min(timeoutMs, maxConnectMs));
  const transport = createGrpcTransport(session, {
    pathPrefix: parsed.kind === "tcp" ? parsed.pathPrefix : "",
    maxMessageBytes: options.maxMessageBytes ?? 64 * 1024 * 1024,
  });
  const client = createChannelzClient(transport, {
    package: options.package,
    timeoutMs,
    headers,
    peer: label,
    adviseOnConnection: (cause) =>
      adviseOnConnection(cause, { isTls: tls !== undefined, isUnix: parsed.kind === "unix" }),
  });

  const close = async (): Promise<void> => {
    await session.close(
      new ChannelzError("PEER_UNAVAILABLE", `The connection to ${label} is closed. Connect again to read.`),
    );
  };
  return { ...client, target: label, ownConnection: session.own, close, [Symbol.asyncDispose]: close };
}

function tlsOf(target: Target, label: string, tls: ConnectChannelzOptions["tls"]): DialTlsOptions | undefined {
  const requested = tls === true ? {} : tls;
  if (target.kind === "unix" || target.isTls === undefined) return requested;
  if (target.isTls) return requested ?? {};
  if (requested !== undefined) {
    throw new ChannelzError(
      "TARGET_INVALID",
      `The target ${label} is plaintext, but TLS is requested. Use https, or drop TLS.`,
    );
  }
  return undefined;
}

const secretHeaders = ["authorization", "proxy-authorization", "cookie"];

function headersOf(target: Target, label: string, options: ConnectChannelzOptions, isTls: boolean): Headers {
  const headers = new Headers(options.headers);
  if (options.token !== undefined) {
    if (options.token === "" || /[^\x21-\x7e]/.test(options.token)) {
      throw new ChannelzError(
        "TOKEN_UNUSABLE",
        "The token is empty or contains characters other than printable ASCII without spaces. Check where it comes from.",
      );
    }
    headers.set("authorization", `Bearer ${options.token}`);
  }
  const secret = secretHeaders.find((name) => headers.has(name));
  if (secret !== undefined && !isTls && !isLocal(target) && !options.allowInsecureToken) {
    throw new ChannelzError(
      "TOKEN_EXPOSED",
      `The header ${secret} would be sent unencrypted to ${label}. Use TLS, or a tunnel that ends on this machine.`,
    );
  }
  return headers;
}

function originOf(target: Target, isTls: boolean): string {
  const scheme = isTls ? "https" : "http";
  // The name that a listener on a Unix socket expects; curl and gRPC send it too.
  if (target.kind === "unix") return `${scheme}://localhost`;
  // A URL cannot contain the zone of an address; only the socket needs it.
  const authority = formatAuthority({ host: target.host.replace(/%.*$/, ""), port: target.port });
  return new URL(`${scheme}://${authority}`).origin;
}

/** The kind of a connection, for advice if it fails. */
interface Dialled {
  readonly isTls: boolean;
  readonly isUnix: boolean;
}

const byCode: Readonly<Record<string, string>> = {
  ENOTFOUND: "Check the host name.",
  EAI_AGAIN: "The DNS lookup failed; check the name and the network.",
  ENOENT: "No such socket file: check the path, and that the process runs.",
  EACCES: "Permission denied: check the permissions of the socket file.",
  EPERM: "Permission denied: check the permissions.",
  ENOTSOCK: "The path is not a socket.",
  EHOSTUNREACH: "Check the address and the network.",
  ENETUNREACH: "Check the address and the network.",
  ETIMEDOUT: "Check the address, and that no firewall blocks it.",
  DEPTH_ZERO_SELF_SIGNED_CERT:
    "The certificate is self-signed: pass it, or its CA, as the CA to trust (--ca in the shell, `ca` in code).",
  SELF_SIGNED_CERT_IN_CHAIN:
    "The CA is private: pass its certificate as the CA to trust (--ca in the shell, `ca` in code).",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    "The CA is unknown: pass its certificate as the CA to trust (--ca in the shell, `ca` in code).",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "The CA is unknown: pass its certificate as the CA to trust (--ca in the shell, `ca` in code).",
  CERT_HAS_EXPIRED: "The certificate of the peer has expired: its operator has to renew it.",
  ERR_TLS_CERT_ALTNAME_INVALID: "The certificate is for another name: pass that as the server name.",
};

/** Advice for a connection that failed for this cause. */
function adviseOnConnection(cause: unknown, dialled: Dialled): string {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const known = byCode[code];
  if (known !== undefined) return known;
  if (code === "ECONNREFUSED") {
    return dialled.isUnix
      ? "Nothing listens on that socket file: is the process running?"
      : "Nothing listens on that port: is the process running, and is the port right?";
  }
  if (/^ERR_SSL_\w*ALERT_(CERTIFICATE_REQUIRED|BAD_CERTIFICATE|UNKNOWN_CA|HANDSHAKE_FAILURE)/.test(code)) {
    return "The peer requires a client certificate that it trusts: pass one with its key.";
  }
  if (dialled.isTls) {
    return /^(ERR_SSL_(WRONG_VERSION|PACKET_LENGTH|TLSV1_ALERT_NO_APPLICATION|NO_APPLICATION)|EPROTO|ERR_TLS_HANDSHAKE_TIMEOUT)/.test(
      code,
    )
      ? "The port does not seem to speak TLS with HTTP/2: try without TLS, or check the port."
      : "Check that the port speaks gRPC over TLS.";
  }
  return "Check that it is a gRPC port. If it uses TLS, enable TLS: --tls in the shell, `tls: true` in code.";
}
