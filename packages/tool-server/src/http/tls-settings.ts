import { readFileSync } from "node:fs";
import * as tls from "node:tls";
import { messageOf, ToolServerError } from "../errors.js";

/** Additional TLS settings. None of them disables a check. */
export interface TlsSettings {
  /** CA certificates to trust in addition to the default ones, in PEM. */
  readonly ca?: string | undefined;
  /** The client certificate and its key, in PEM: both or none. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

export interface TlsContexts {
  /** For a server. */
  readonly server: tls.SecureContext;
  /** For a proxy, which never gets the client certificate. */
  readonly proxy: tls.SecureContext;
}

/**
 * Creates the TLS contexts. Throws CREDENTIAL_UNUSABLE if a certificate or a key cannot be used. `extra` is the file in
 * NODE_EXTRA_CA_CERTS: Node adds it only to its default list, so it has to be added to ours.
 */
export function createTlsContexts(settings: TlsSettings, extra: string | undefined): TlsContexts {
  const { ca, certificate, key } = settings;
  if ((certificate === undefined) !== (key === undefined)) {
    throw unusable("A client certificate requires its key, and a key requires its certificate", "Pass both or none");
  }
  if (ca !== undefined && !/-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/.test(ca)) {
    throw unusable(
      "The CA file contains no certificate in PEM format",
      "Pass a file that starts with -----BEGIN CERTIFICATE-----",
    );
  }
  try {
    const proxy = contextTrusting(ca, extra);
    if (certificate === undefined || key === undefined) return { server: proxy, proxy };
    const trusted = ca === undefined ? {} : { ca: [...defaultAuthorities(extra), ca] };
    return { server: tls.createSecureContext({ ...trusted, cert: certificate, key }), proxy };
  } catch (cause) {
    // OpenSSL names the defect and quotes nothing of the key.
    throw unusable(
      `The certificates or the key cannot be used (${messageOf(cause)})`,
      "Check that the files are in PEM format, belong together, and that the key has no passphrase",
    );
  }
}

/** By their additional CAs: loading all CAs takes a while, and many servers share one context. */
const contexts = new Map<string | undefined, tls.SecureContext>();

function contextTrusting(ca: string | undefined, extra: string | undefined): tls.SecureContext {
  const known = contexts.get(ca);
  if (known !== undefined) return known;
  const context = tls.createSecureContext(ca === undefined ? {} : { ca: [...defaultAuthorities(extra), ca] });
  contexts.set(ca, context);
  return context;
}

function defaultAuthorities(extra: string | undefined): string[] {
  // Newer than the oldest supported Node version.
  const { getCACertificates } = tls as { getCACertificates?: (type: "default") => string[] };
  if (getCACertificates !== undefined) return getCACertificates("default");
  if (extra === undefined || extra === "") return [...tls.rootCertificates];
  try {
    return [...tls.rootCertificates, readFileSync(extra, "utf8")];
  } catch {
    // Node has already printed a warning.
    return [...tls.rootCertificates];
  }
}

function unusable(what: string, advice: string): ToolServerError {
  const parts = { problem: `${what}.`, advice: `${advice}.` };
  return new ToolServerError("CREDENTIAL_UNUSABLE", parts, { details: { wasSent: false } });
}
