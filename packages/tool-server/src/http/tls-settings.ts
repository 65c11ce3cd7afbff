import { readFileSync } from "node:fs";
import * as tls from "node:tls";
import { ToolServerError } from "../errors.js";

/** What TLS knows beyond its defaults. No setting turns a check off. */
export interface TlsSettings {
  /** Certificates of authorities that are trusted besides the usual ones, as PEM. */
  readonly ca?: string | undefined;
  /** The certificate of this client and its key, as PEM: both or none. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

/** The contexts of TLS of one client. */
export interface TlsContexts {
  /** For a server. */
  readonly server: tls.SecureContext;
  /** For a proxy, which never sees the certificate of the client. */
  readonly proxy: tls.SecureContext;
}

/**
 * Makes the contexts of TLS. Throws CREDENTIAL_UNUSABLE where a certificate or a key cannot be used. `extra` is the file that
 * NODE_EXTRA_CA_CERTS names: Node adds it to its own list alone, so it has to be added to ours.
 */
export function createTlsContexts(settings: TlsSettings, extra: string | undefined): TlsContexts {
  const { ca, certificate, key } = settings;
  if ((certificate === undefined) !== (key === undefined)) {
    throw unusable("A client certificate needs its key, and a key its certificate", "Give both, or none");
  }
  if (ca !== undefined && !/-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/.test(ca)) {
    throw unusable(
      "The certificates of authorities hold no certificate in PEM",
      "Give a file that begins with -----BEGIN CERTIFICATE-----",
    );
  }
  try {
    const proxy = trusting(ca, extra);
    if (certificate === undefined || key === undefined) return { server: proxy, proxy };
    const trusted = ca === undefined ? {} : { ca: [...usualAuthorities(extra), ca] };
    return { server: tls.createSecureContext({ ...trusted, cert: certificate, key }), proxy };
  } catch (cause) {
    // OpenSSL names the defect, and quotes nothing of the key.
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw unusable(
      `The certificates or the key cannot be used (${reason})`,
      "Check that the files are PEM, belong together, and that the key has no passphrase",
    );
  }
}

/** By the authorities that they trust besides the usual ones: to read all of them takes a while, and many servers share one. */
const contexts = new Map<string | undefined, tls.SecureContext>();

function trusting(ca: string | undefined, extra: string | undefined): tls.SecureContext {
  const known = contexts.get(ca);
  if (known !== undefined) return known;
  const context = tls.createSecureContext(ca === undefined ? {} : { ca: [...usualAuthorities(extra), ca] });
  contexts.set(ca, context);
  return context;
}

function usualAuthorities(extra: string | undefined): string[] {
  // Newer than the oldest Node that is supported.
  const { getCACertificates } = tls as { getCACertificates?: (type: "default") => string[] };
  if (getCACertificates !== undefined) return getCACertificates("default");
  if (extra === undefined || extra === "") return [...tls.rootCertificates];
  try {
    return [...tls.rootCertificates, readFileSync(extra, "utf8")];
  } catch {
    // Node has warned of it by itself.
    return [...tls.rootCertificates];
  }
}

function unusable(what: string, advice: string): ToolServerError {
  return new ToolServerError(
    "CREDENTIAL_UNUSABLE",
    { problem: `${what}.`, advice: `${advice}.` },
    { details: { wasSent: false } },
  );
}
