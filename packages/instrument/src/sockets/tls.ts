import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { SocketSecurity } from "@wirescope/channelz";
import { isGone } from "./socket-internals.js";

interface KnownSecurity {
  /** Marks the handshake from which this was read: another one, by renegotiation, may bring other certificates. */
  readonly finished: Buffer;
  readonly security: SocketSecurity;
}

/** Reading certificates takes Node some 50 µs, and they stay the same: each is read once, on demand. */
const knownSecurity = new WeakMap<TLSSocket, KnownSecurity>();

/** The local certificate shown last, which is the same for all connections of a server: they share one copy. */
let lastLocalCertificate: Buffer | undefined;

/** Whether a connection is one of TLS. */
export function isTls(socket: Socket): socket is TLSSocket {
  return (socket as Partial<TLSSocket>).encrypted === true;
}

/**
 * The cipher suite of a TLS connection and both certificates, in DER, whether or not they were found trustworthy.
 * Undefined before the handshake is done and once the socket is destroyed. A client that resumed a session has not
 * seen its peer's certificate, so that one is then absent.
 */
export function tlsSecurity(socket: TLSSocket): SocketSecurity | undefined {
  // A client with a session to resume already has the cipher of that one, so it says nothing about the handshake.
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
  // Not getPeerX509Certificate(): on a client before Node 26 it takes the certificate away from the next caller.
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
 * A client has a certificate that it never sends unless the server asks. The signature algorithms that both
 * sides share are known to a client from just that request, and to a server from the client's first message; before
 * TLS 1.2, and in a resumed session, nothing shows it.
 */
function wasLocalCertificateUsed(socket: TLSSocket): boolean {
  const protocol = socket.getProtocol();
  if (socket.isSessionReused() || (protocol !== "TLSv1.2" && protocol !== "TLSv1.3")) return true;
  return socket.getSharedSigalgs().length > 0;
}

function rawOf(certificate: object | null | undefined): Buffer | undefined {
  return (certificate as { readonly raw?: Buffer } | null | undefined)?.raw;
}
