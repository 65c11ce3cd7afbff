import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { ChannelzError } from "../errors.js";
import { codeOf, fileReason } from "./file-reason.js";

/** One part of a listener's TLS material, as PEM, and its file. */
export interface TlsPart {
  readonly kind: "certificate" | "private key" | "client CA";
  /** The file, unless it was passed as PEM. */
  readonly file: string | undefined;
  readonly pem: string | Buffer;
}

/** The minimum TLS version. */
export const minVersion = "TLSv1.2";

/**
 * Returns the listener's own certificate, the first of the chain, if certificates and key are complete and match. Otherwise throws
 * LISTEN_FAILED.
 */
export function checkPair(certificate: TlsPart, key: TlsPart, passphrase: string | undefined): X509Certificate {
  const [own] = certificatesOf(certificate);
  if (own === undefined) throw defectOf(certificate, "contains no certificate");
  const privateKey = privateKeyOf(key, passphrase);
  if (!own.checkPrivateKey(privateKey)) {
    const chain = nameOf(certificate).replace("The", "the");
    throw new ChannelzError(
      "LISTEN_FAILED",
      `${nameOf(key)} does not belong to ${chain}. Use a certificate and key that were issued together, with the listener's own certificate first.`,
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
 * Throws LISTEN_FAILED unless each part contains complete certificates. Without a CA, Node silently trusts its default CAs, and it
 * silently ignores everything after a broken certificate.
 */
export function checkAuthorities(parts: readonly TlsPart[]): void {
  for (const part of parts) {
    if (certificatesOf(part).length === 0) throw defectOf(part, "contains no certificate");
  }
}

/** The error for a file that cannot be read. */
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
      throw defectOf(part, `contains a certificate that cannot be read (${codeOf(cause)})`, cause);
    }
  });
}

function privateKeyOf(part: TlsPart, passphrase: string | undefined): KeyObject {
  blocksOf(part);
  if (passphrase === undefined && isEncrypted(part)) {
    throw new ChannelzError(
      "LISTEN_FAILED",
      `${nameOf(part)} is encrypted, and passphrase is not set. Set passphrase, or decrypt the key with openssl pkey.`,
    );
  }
  try {
    return createPrivateKey({ key: part.pem, format: "pem", ...(passphrase !== undefined && { passphrase }) });
  } catch (cause) {
    const encrypted = passphrase === undefined ? "" : ", or the passphrase is wrong";
    throw defectOf(part, `contains no usable private key (${codeOf(cause)})${encrypted}`, cause);
  }
}

/** Whether a private key is encrypted: as PKCS #8, or in the older format with a header. */
function isEncrypted({ pem }: TlsPart): boolean {
  return /^(-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED)/m.test(pem.toString());
}

/** The certificates of a part, each still PEM. Anything else in it, such as a key or a comment, is ignored. */
function blocksOf(part: TlsPart): string[] {
  const text = part.pem.toString();
  if (text.trim() === "") throw defectOf(part, "is empty");
  const begun = text.match(/-----BEGIN [^-\n]+-----/g)?.length ?? 0;
  const blocks = [...text.matchAll(/-----BEGIN ([^-\n]+)-----[\s\S]*?-----END \1-----/g)];
  if (blocks.length < begun) throw defectOf(part, "is truncated");
  return blocks.filter(([, label]) => label?.endsWith("CERTIFICATE")).map(([block]) => block);
}

const advice: Readonly<Record<TlsPart["kind"], string>> = {
  certificate: "Write the certificate and its chain up to the CA, as PEM.",
  "private key": "Write the private key of the certificate, as PEM.",
  "client CA": "Write the certificates of the CAs that sign client certificates, as PEM.",
};

function defectOf(part: TlsPart, defect: string, cause?: unknown): ChannelzError {
  const options = cause === undefined ? undefined : { cause };
  return new ChannelzError("LISTEN_FAILED", `${nameOf(part)} ${defect}. ${advice[part.kind]}`, options);
}

/** The name of a part, for the beginning of a sentence. */
export function nameOf({ kind, file }: Omit<TlsPart, "pem">): string {
  return file === undefined ? `The given ${kind}` : `The ${kind} file ${JSON.stringify(file)}`;
}
