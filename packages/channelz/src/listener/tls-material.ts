import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { ChannelzError } from "../errors.js";
import { fileReason } from "./file-reason.js";

/** What a listener's TLS is made of: one thing as PEM, and where it came from. */
export interface TlsPart {
  readonly kind: "certificate" | "private key" | "client authority";
  /** The file that holds it, if one does. */
  readonly file: string | undefined;
  readonly pem: string | Buffer;
}

/** The oldest TLS that is spoken. */
export const minVersion = "TLSv1.2";

/**
 * Returns the listener's own certificate, the first of the chain, if certificates and key are complete and match. Throws
 * LISTEN_FAILED with what is wrong.
 */
export function judgePair(certificate: TlsPart, key: TlsPart, passphrase: string | undefined): X509Certificate {
  const [own] = certificatesOf(certificate);
  if (own === undefined) throw defectOf(certificate, "holds no certificate");
  const privateKey = privateKeyOf(key, passphrase);
  if (!own.checkPrivateKey(privateKey)) {
    const chain = nameOf(certificate).replace("The", "the");
    throw new ChannelzError(
      "LISTEN_FAILED",
      `${nameOf(key)} does not belong to ${chain}. Write both as they were issued together, the listener's own certificate first.`,
    );
  }
  try {
    createSecureContext({ cert: certificate.pem, key: key.pem, passphrase, minVersion });
  } catch (cause) {
    throw defectOf(certificate, `cannot be used with its key (${codeOf(cause)})`, cause);
  }
  return own;
}

/**
 * Throws LISTEN_FAILED unless each part holds whole certificates. Node takes no authority for all that it trusts, and leaves out
 * what follows a broken one, both without a word.
 */
export function judgeAuthorities(parts: readonly TlsPart[]): void {
  for (const part of parts) {
    if (certificatesOf(part).length === 0) throw defectOf(part, "holds no certificate");
  }
}

/** A file that should hold a part cannot be read. */
export function unreadable({ kind, file }: Omit<TlsPart, "pem">, cause: unknown): ChannelzError {
  return new ChannelzError(
    "LISTEN_FAILED",
    `${nameOf({ kind, file })} cannot be read: ${fileReason(cause)}. Create it, or let this process read it.`,
    { cause },
  );
}

function certificatesOf(part: TlsPart): X509Certificate[] {
  return blocksOf(part).map((block) => {
    try {
      return new X509Certificate(block);
    } catch (cause) {
      throw defectOf(part, `holds a certificate that cannot be read (${codeOf(cause)})`, cause);
    }
  });
}

function privateKeyOf(part: TlsPart, passphrase: string | undefined): KeyObject {
  blocksOf(part);
  try {
    return createPrivateKey({ key: part.pem, format: "pem", ...(passphrase !== undefined && { passphrase }) });
  } catch (cause) {
    const encrypted = passphrase === undefined ? "" : ", or the passphrase is another";
    throw defectOf(part, `holds no private key that can be used (${codeOf(cause)})${encrypted}`, cause);
  }
}

/** The certificates of a part, each still PEM. Anything else in it, such as a key or a comment, is ignored. */
function blocksOf(part: TlsPart): string[] {
  const text = part.pem.toString();
  if (text.trim() === "") throw defectOf(part, "is empty");
  const begun = text.match(/-----BEGIN [^-\n]+-----/g)?.length ?? 0;
  const blocks = [...text.matchAll(/-----BEGIN ([^-\n]+)-----[\s\S]*?-----END \1-----/g)];
  if (blocks.length < begun) throw defectOf(part, "is cut off");
  return blocks.filter(([, label]) => label?.endsWith("CERTIFICATE")).map(([block]) => block);
}

const advice: Readonly<Record<TlsPart["kind"], string>> = {
  certificate: "Write the certificate and its chain up to the CA, as PEM.",
  "private key": "Write the private key of the certificate, as PEM.",
  "client authority": "Write the certificates of the CAs that sign client certificates, as PEM.",
};

function defectOf(part: TlsPart, defect: string, cause?: unknown): ChannelzError {
  const options = cause === undefined ? undefined : { cause };
  return new ChannelzError("LISTEN_FAILED", `${nameOf(part)} ${defect}. ${advice[part.kind]}`, options);
}

/** What a part is called, at the beginning of a sentence. */
export function nameOf({ kind, file }: Omit<TlsPart, "pem">): string {
  return file === undefined ? `The given ${kind}` : `The ${kind} file ${JSON.stringify(file)}`;
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown reason";
}
