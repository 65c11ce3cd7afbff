import { X509Certificate } from "node:crypto";
import type { Security } from "@wirescope/channelz";
import { formatTime } from "@wirescope/channelz/internal/text";
import type { Screen } from "./screen.js";
import type { Field } from "./table.js";

/** The security of a socket. */
export function securityFields(security: Security | undefined, screen: Screen): Field[] {
  if (security?.model.case === undefined) return [];
  if (security.model.case === "other") return [["security", security.model.value.name || "(other)"]];
  const { localCertificate, remoteCertificate } = security.model.value;
  return [
    ["security", `TLS ${security.model.value.cipherSuite.value ?? ""}`.trimEnd()],
    ...certificateFields("local certificate", localCertificate, screen),
    ...certificateFields("remote certificate", remoteCertificate, screen),
  ];
}

function certificateFields(title: string, bytes: Uint8Array, screen: Screen): Field[] {
  if (bytes.length === 0) return [];
  let certificate: X509Certificate;
  try {
    // DER as specified, or PEM as some peers send it.
    certificate = new X509Certificate(bytes);
  } catch {
    return [[title, `${bytes.length} bytes that are not a certificate`, screen.palette.bad]];
  }
  const expiry = new Date(certificate.validTo);
  return [
    [title, oneLine(certificate.subject) || certificate.subjectAltName || `serial ${certificate.serialNumber}`],
    ["  issuer", oneLine(certificate.issuer)],
    ["  expires", formatTime(expiry, screen.now), expiry < screen.now ? screen.palette.bad : screen.palette.plain],
  ];
}

function oneLine(name: string | undefined): string {
  return (name ?? "").split("\n").join(", ");
}
