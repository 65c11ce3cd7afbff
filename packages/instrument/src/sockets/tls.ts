import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { SocketSecurity } from "@wirescope/channelz";
import { causeOf } from "../cause.js";
import { isGone } from "./socket-internals.js";

interface KnownSecurity {
  /** Identifies the handshake this was read from: a renegotiation may bring other certificates. */
  readonly finished: Buffer;
  readonly security: SocketSecurity;
}

/** A cache, because reading certificates takes about 50 µs and they do not change. */
const knownSecurity = new WeakMap<TLSSocket, KnownSecurity>();

/** The last local certificate. The connections of a server have the same one, and share one copy. */
let lastLocalCertificate: Buffer | undefined;

/**
 * Why the handshake with a client failed. If a server refuses a client's certificate, Node emits only "socket hang up"; the reason
 * is on the socket.
 */
export function handshakeFailure(error: unknown, socket: TLSSocket | undefined): string {
  const reason: unknown = socket?.authorizationError;
  return reason ? `client certificate refused: ${reason}` : causeOf(error);
}

/** Whether a connection uses TLS. */
export function isTls(socket: Socket): socket is TLSSocket {
  return (socket as Partial<TLSSocket>).encrypted === true;
}

/**
 * The cipher suite and both certificates (DER) of a TLS connection, whether or not they are trusted. Undefined before the handshake
 * is done and after the socket is destroyed. A client that resumed a session did not receive the peer's certificate, so that one
 * may be missing.
 */
export function tlsSecurity(socket: TLSSocket): SocketSecurity | undefined {
  // A client that resumes a session has its cipher before the handshake is done.
  if (isGone(socket) || (socket as { readonly secureConnecting?: boolean }).secureConnecting) return undefined;
  const finished = socket.getFinished();
  if (finished === undefined || finished === null) return undefined;
  const known = knownSecurity.get(socket);
  if (known?.finished.equals(finished)) return known.security;
  const security = readSecurity(socket);
  if (security !== undefined) knownSecurity.set(socket, { finished, security });
  return security;
}

function readSecurity(socket: TLSSocket): SocketSecurity | undefined {
  const cipher = socket.getCipher() as ReturnType<TLSSocket["getCipher"]> | null | undefined;
  if (!cipher?.name) return undefined;
  const { name, standardName } = cipher;
  const localCertificate = readLocalCertificate(socket);
  // Not getPeerX509Certificate(): before Node 26, on a client, the next caller then gets no certificate.
  const remoteCertificate = rawOf(socket.getPeerCertificate());
  return {
    tls: {
      ...(standardName?.startsWith("TLS_") ? { standardName } : { otherName: name }),
      ...(localCertificate && { localCertificate }),
      ...(remoteCertificate && { remoteCertificate }),
    },
  };
}

function readLocalCertificate(socket: TLSSocket): Buffer | undefined {
  if (!wasLocalCertificateUsed(socket)) return undefined;
  const certificate = rawOf(socket.getCertificate());
  if (certificate === undefined) return undefined;
  if (!lastLocalCertificate?.equals(certificate)) lastLocalCertificate = certificate;
  return lastLocalCertificate;
}

/**
 * A client sends its certificate only if the server requests it. Shared signature algorithms show that: a client learns them from
 * that request, and a server from the ClientHello. Before TLS 1.2, and in a resumed session, it is unknown.
 */
function wasLocalCertificateUsed(socket: TLSSocket): boolean {
  const protocol = socket.getProtocol();
  if (socket.isSessionReused() || (protocol !== "TLSv1.2" && protocol !== "TLSv1.3")) return true;
  return socket.getSharedSigalgs().length > 0;
}

function rawOf(certificate: object | null | undefined): Buffer | undefined {
  return (certificate as { readonly raw?: Buffer } | null | undefined)?.raw;
}
