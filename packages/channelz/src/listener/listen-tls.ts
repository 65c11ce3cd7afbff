/** A PEM file. A changed file is used for new connections within about a second. */
export interface PemFile {
  readonly file: string;
}

/** The TLS options of a listener: each part as PEM, or as a PEM file. */
export interface ListenTls {
  /** The listener's certificate chain, its own certificate first. */
  readonly cert: string | Buffer | PemFile;
  /** Its private key. */
  readonly key: string | Buffer | PemFile;
  /** The passphrase of the key, if it is encrypted. */
  readonly passphrase?: string;
  /** The CAs for client certificates. If set, clients must present a certificate (mutual TLS). */
  readonly ca?: string | Buffer | PemFile | readonly (string | Buffer | PemFile)[];
  /**
   * Called after files changed. Its exceptions are ignored. Default: for unusable files, a process warning with the code
   * `TLS_FILES_UNUSABLE`, once.
   */
  readonly onChange?: (change: TlsChange) => void;
  /**
   * Called when the certificate in use expires within 14 days or has expired: at start, and then once a day for each certificate.
   * Its exceptions are ignored. Default: a process warning with the code `TLS_CERTIFICATE_EXPIRING` or `TLS_CERTIFICATE_EXPIRED`.
   */
  readonly onExpiring?: (expiry: TlsExpiry) => void;
}

/** The result of a file change: the new files are in use, or they are unusable and the previous ones stay in use. */
export interface TlsChange {
  readonly isUsable: boolean;
  /** The files that are used together. */
  readonly files: readonly string[];
  /** For people: what is wrong and what to do, or until when the certificate is valid. */
  readonly message: string;
}

/** The expiry of the certificate in use. */
export interface TlsExpiry {
  readonly isExpired: boolean;
  readonly validUntil: Date;
  /** For people: which certificate, when it expires, and what to do. */
  readonly message: string;
}
