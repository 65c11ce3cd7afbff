import type { X509Certificate } from "node:crypto";
import { resolve } from "node:path";
import type { SecureContextOptions } from "node:tls";
import { watchExpiry } from "./certificate-expiry.js";
import { type FollowedFile, type FollowPace, followFiles, readFiles } from "./followed-files.js";
import type { ListenTls, PemFile, TlsChange, TlsExpiry } from "./listen-tls.js";
import { judgeAuthorities, judgePair, minVersion, type TlsPart, unreadable } from "./tls-material.js";

/** What handshakes are made with: the last that was good. */
export interface TlsContext {
  current(): SecureContextOptions;
  /** Reads changed files and then calls `onTaken`, and warns before the certificate expires, until the signal ends it. */
  follow(onTaken: () => void, signal: AbortSignal, pace?: FollowPace): void;
}

/** Reads what TLS is made of, as contents or from files. Throws LISTEN_FAILED with what is wrong. */
export function openTlsContext(tls: ListenTls): TlsContext {
  const { passphrase, ca, onChange = warn, onExpiring = warnOfExpiry } = tls;
  const certificate = sourceOf("certificate", tls.cert);
  let own: X509Certificate | undefined;
  const pair = openGroup([certificate, sourceOf("private key", tls.key)], ([cert, key]) => {
    if (cert === undefined || key === undefined) throw new TypeError("tls needs cert and key.");
    own = judgePair(cert, key, passphrase);
    const until = new Date(own.validTo).toISOString();
    return {
      renewed: `The certificate in ${quoted([cert, key])} is now in use. It is valid until ${until}.`,
      kept: `Until then the certificate from before is used. It is valid until ${until}.`,
    };
  });
  if (ca !== undefined && isList(ca) && ca.length === 0) {
    throw new TypeError("tls.ca is an empty list: nobody could come in. Name an authority, or leave it out.");
  }
  const sources = (ca === undefined ? [] : isList(ca) ? ca : [ca]).map((one) => sourceOf("client authority", one));
  const authorities = openGroup(sources, (parts) => {
    judgeAuthorities(parts);
    return {
      renewed: `The client authorities in ${quoted(parts)} count from now on.`,
      kept: "Until then the authorities from before are used.",
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
    follow(onTaken, signal, pace) {
      const { file } = certificate;
      const { isFollowable } = pair;
      const look = watchExpiry({ certificate: () => own as X509Certificate, file, isFollowable, onExpiring, signal });
      const hear = (change: TlsChange): void => {
        try {
          onChange(change);
        } finally {
          if (change.isUsable) look();
        }
      };
      // Each by itself: an authority that is taken away must count, also while the certificate is wrong.
      pair.follow({ onTaken, onChange: hear, signal, pace });
      authorities.follow({ onTaken, onChange, signal, pace });
    },
  };
}

/** A part before it is read. */
type PartSource = Pick<TlsPart, "kind" | "file"> & { readonly pem: string | Buffer | undefined };

/** What is said once parts are taken up, and while later ones cannot be. */
interface GroupWords {
  readonly renewed: string;
  readonly kept: string;
}

interface FollowGroup {
  readonly onTaken: () => void;
  readonly onChange: (change: TlsChange) => void;
  readonly signal: AbortSignal;
  readonly pace: FollowPace | undefined;
}

/** Parts that are good or bad together. */
interface PartGroup {
  parts(): readonly TlsPart[];
  /** Whether changed ones are taken up: those that are in files, unless it is a pipe. */
  readonly isFollowable: boolean;
  follow(options: FollowGroup): void;
}

function openGroup(sources: readonly PartSource[], judge: (parts: readonly TlsPart[]) => GroupWords): PartGroup {
  const files = sources.flatMap((source): FollowedFile[] =>
    source.file === undefined ? [] : [{ path: source.file, unreadable: (cause) => unreadable(source, cause) }],
  );
  const first = readFiles(files);
  const partsWith = (contents: readonly Buffer[]): TlsPart[] => {
    const read = contents.values();
    return sources.map(({ kind, file, pem }) => ({ kind, file, pem: pem ?? read.next().value ?? "" }));
  };
  let parts = partsWith(first.contents);
  let words = judge(parts);

  return {
    parts: () => parts,
    isFollowable: files.length > 0 && first.isFollowable,
    follow({ onTaken, onChange, signal, pace }) {
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
        take(contents) {
          const next = partsWith(contents);
          words = judge(next);
          parts = next;
          onTaken();
          report(true, words.renewed);
        },
        onUnusable: ({ message }) => report(false, `${message} ${words.kept}`),
        signal,
        pace,
      });
    },
  };
}

function sourceOf(kind: TlsPart["kind"], given: string | Buffer | PemFile): PartSource {
  if (typeof given === "string" || Buffer.isBuffer(given)) return { kind, file: undefined, pem: given };
  // The process may change its folder later.
  return { kind, file: resolve(given.file), pem: undefined };
}

function isList<T>(given: T | readonly T[]): given is readonly T[] {
  return Array.isArray(given);
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
