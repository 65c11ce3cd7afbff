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
   * Hears what became of files that changed. What it throws is ignored. Default: files that cannot be used are a warning of the
   * process, once, with the code `TLS_FILES_UNUSABLE`.
   */
  readonly onChange?: (change: TlsChange) => void;
  /**
   * Hears that the certificate in use runs out within 14 days, or has run out: at the start and later, of each certificate once a day.
   * What it throws is ignored. Default: a warning of the process, with the code `TLS_CERTIFICATE_EXPIRING` or `TLS_CERTIFICATE_EXPIRED`.
   */
  readonly onExpiring?: (expiry: TlsExpiry) => void;
}

/** What became of changed files: they are in use, or cannot be used and what was there before stays. */
export interface TlsChange {
  readonly isUsable: boolean;
  /** The files that count together. */
  readonly files: readonly string[];
  /** For people: what is wrong and what to do, or until when the certificate is valid. */
  readonly message: string;
}

/** The end of the certificate in use, which is near or past. */
export interface TlsExpiry {
  readonly isExpired: boolean;
  readonly validUntil: Date;
  /** For people: which certificate, when it ends, and what to do. */
  readonly message: string;
}
