import { X509Certificate } from "node:crypto";
import type { Socket } from "@wirescope/channelz";

/** A certificate of a connection. */
export interface SocketCertificate {
  /** Whose certificate it is, seen from the process that was read. */
  readonly side: "local" | "remote";
  readonly certificate: X509Certificate;
  readonly expiry: Date;
}

/** More than any real certificate chain has. */
const maxCertificateBytes = 100_000;

/** The certificates of a socket that can be parsed: DER as specified, or PEM as some peers send it. */
export function certificatesOf(socket: Socket | undefined): SocketCertificate[] {
  if (socket?.security?.model.case !== "tls") return [];
  const { localCertificate, remoteCertificate } = socket.security.model.value;
  return [
    { side: "local", bytes: localCertificate } as const,
    { side: "remote", bytes: remoteCertificate } as const,
  ].flatMap(({ side, bytes }) => {
    if (bytes.length === 0 || bytes.length > maxCertificateBytes) return [];
    try {
      const certificate = new X509Certificate(bytes);
      return [{ side, certificate, expiry: new Date(certificate.validTo) }];
    } catch {
      return [];
    }
  });
}

/** The subject of a certificate in one line, or its names or serial number if it has none. */
export function subjectOf(certificate: X509Certificate): string {
  const subject = (certificate.subject ?? "").split("\n").join(", ");
  return subject || certificate.subjectAltName || `serial ${certificate.serialNumber}`;
}
