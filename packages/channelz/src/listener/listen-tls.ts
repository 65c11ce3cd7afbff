/** A file that holds PEM. A changed one counts for new connections within about a second. */
export interface PemFile {
  readonly file: string;
}

/** How a listener speaks TLS: each part as PEM, or as the file that holds it. */
export interface ListenTls {
  /** The listener's certificate chain, its own certificate first. */
  readonly cert: string | Buffer | PemFile;
  /** Its private key. */
  readonly key: string | Buffer | PemFile;
  /** What the key is encrypted with, if it is. */
  readonly passphrase?: string;
  /** The authorities whose certificates callers must present: giving them makes the TLS mutual. */
  readonly ca?: string | Buffer | PemFile | readonly (string | Buffer | PemFile)[];
  /**
   * Called after files changed. What it throws is ignored. Default: files that cannot be used cause a process
   * warning, once, with the code `TLS_FILES_UNUSABLE`.
   */
  readonly onChange?: (change: TlsChange) => void;
  /**
   * Called when the certificate in use expires within 14 days or has expired: at start, and then once a day for each certificate.
   * What it throws is ignored. Default: a process warning with the code `TLS_CERTIFICATE_EXPIRING` or `TLS_CERTIFICATE_EXPIRED`.
   */
  readonly onExpiring?: (expiry: TlsExpiry) => void;
}

/** The result of a change of files: they are in use, or cannot be used and the previous ones stay in use. */
export interface TlsChange {
  readonly isUsable: boolean;
  /** The files that count together. */
  readonly files: readonly string[];
  /** For people: what is wrong and what to do, or until when the certificate is valid. */
  readonly message: string;
}

/** The expiry of the certificate in use, which is near or past. */
export interface TlsExpiry {
  readonly isExpired: boolean;
  readonly validUntil: Date;
  /** For people: which certificate, when it ends, and what to do. */
  readonly message: string;
}
