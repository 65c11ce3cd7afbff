import type { X509Certificate } from "node:crypto";
import { resolve } from "node:path";
import type { SecureContextOptions } from "node:tls";
import { watchExpiry } from "./certificate-expiry.js";
import { type FollowedFile, type FollowPace, followFiles, readFiles } from "./followed-files.js";
import type { ListenTls, PemFile, TlsChange, TlsExpiry } from "./listen-tls.js";
import { checkAuthorities, checkPair, minVersion, type TlsPart, unreadable } from "./tls-material.js";

/** The TLS material for handshakes: the last that was usable. */
export interface TlsContext {
  current(): SecureContextOptions;
  /** Applies changed files and then calls `onApplied`, and warns before the certificate expires, until the signal is aborted. */
  follow(onApplied: () => void, signal: AbortSignal, pace?: FollowPace): void;
}

/** Reads the TLS material, from contents or files. Throws LISTEN_FAILED if it is unusable. */
export function openTlsContext(tls: ListenTls): TlsContext {
  const { passphrase, ca, onChange = warn, onExpiring = warnOfExpiry } = tls;
  const certificate = sourceOf("certificate", tls.cert);
  let own: X509Certificate | undefined;
  const pair = openGroup([certificate, sourceOf("private key", tls.key)], ([cert, key]) => {
    if (cert === undefined || key === undefined) throw new TypeError("tls requires cert and key.");
    own = checkPair(cert, key, passphrase);
    const until = new Date(own.validTo).toISOString();
    return {
      renewed: `The certificate in ${quoted([cert, key])} is now in use. It is valid until ${until}.`,
      kept: `Until then the previous certificate is used. It is valid until ${until}.`,
    };
  });
  if (Array.isArray(ca) && ca.length === 0) {
    throw new TypeError("tls.ca is an empty list: no client could connect. Add a CA, or leave tls.ca out.");
  }
  const sources = (ca === undefined ? [] : [ca].flat()).map((one) => sourceOf("client CA", one));
  const authorities = openGroup(sources, (parts) => {
    checkAuthorities(parts);
    return {
      renewed: `The client CAs in ${quoted(parts)} are now in use.`,
      kept: "Until then the previous CAs are used.",
    };
  });

  return {
    current() {
      const [cert, key] = pair.parts();
      return {
        cert: cert?.pem,
        key: key?.pem,
        minVersion,
        ...(passphrase !== undefined && { passphrase }),
        ...(ca !== undefined && { ca: authorities.parts().map(({ pem }) => pem) }),
      };
    },
    follow(onApplied, signal, pace) {
      const { file } = certificate;
      const { isFollowable } = pair;
      const checkExpiry = watchExpiry({
        certificate: () => own as X509Certificate,
        file,
        isFollowable,
        onExpiring,
        signal,
      });
      const onPairChange = (change: TlsChange): void => {
        try {
          onChange(change);
        } finally {
          if (change.isUsable) checkExpiry();
        }
      };
      // Separately: the removal of a CA must take effect even while the certificate is unusable.
      pair.follow({ onApplied, onChange: onPairChange, signal, pace });
      authorities.follow({ onApplied, onChange, signal, pace });
    },
  };
}

/** A part before it is read. */
type PartSource = Pick<TlsPart, "kind" | "file"> & { readonly pem: string | Buffer | undefined };

/** The messages after parts are applied, and while later ones are unusable. */
interface GroupMessages {
  readonly renewed: string;
  readonly kept: string;
}

interface FollowGroup {
  readonly onApplied: () => void;
  readonly onChange: (change: TlsChange) => void;
  readonly signal: AbortSignal;
  readonly pace: FollowPace | undefined;
}

/** Parts that are usable only together. */
interface PartGroup {
  parts(): readonly TlsPart[];
  /** Whether changes are followed: if there are files, and none is a pipe. */
  readonly isFollowable: boolean;
  follow(options: FollowGroup): void;
}

function openGroup(sources: readonly PartSource[], check: (parts: readonly TlsPart[]) => GroupMessages): PartGroup {
  const files = sources.flatMap((source): FollowedFile[] =>
    source.file === undefined ? [] : [{ path: source.file, unreadable: (cause) => unreadable(source, cause) }],
  );
  const first = readFiles(files);
  const partsWith = (contents: readonly Buffer[]): TlsPart[] => {
    const read = contents.values();
    return sources.map(({ kind, file, pem }) => ({ kind, file, pem: pem ?? read.next().value ?? "" }));
  };
  let parts = partsWith(first.contents);
  let messages = check(parts);

  return {
    parts: () => parts,
    isFollowable: files.length > 0 && first.isFollowable,
    follow({ onApplied, onChange, signal, pace }) {
      const report = (isUsable: boolean, message: string): void => {
        try {
          onChange({ isUsable, files: files.map(({ path }) => path), message });
        } catch {
          // An exception in the callback must not disturb the listener.
        }
      };
      followFiles({
        files,
        first,
        apply(contents) {
          const next = partsWith(contents);
          messages = check(next);
          parts = next;
          onApplied();
          report(true, messages.renewed);
        },
        onUnusable: ({ message }) => report(false, `${message} ${messages.kept}`),
        signal,
        pace,
      });
    },
  };
}

function sourceOf(kind: TlsPart["kind"], given: string | Buffer | PemFile): PartSource {
  if (typeof given === "string" || Buffer.isBuffer(given)) return { kind, file: undefined, pem: given };
  // The process may change its working directory later.
  return { kind, file: resolve(given.file), pem: undefined };
}

function quoted(parts: readonly TlsPart[]): string {
  return parts.flatMap(({ file }) => (file === undefined ? [] : [JSON.stringify(file)])).join(" and ");
}

function warn({ isUsable, message }: TlsChange): void {
  if (!isUsable) process.emitWarning(message, { type: "ChannelzWarning", code: "TLS_FILES_UNUSABLE" });
}

function warnOfExpiry({ isExpired, message }: TlsExpiry): void {
  const code = isExpired ? "TLS_CERTIFICATE_EXPIRED" : "TLS_CERTIFICATE_EXPIRING";
  process.emitWarning(message, { type: "ChannelzWarning", code });
}
