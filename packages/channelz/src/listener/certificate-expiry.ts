import type { X509Certificate } from "node:crypto";
import type { TlsExpiry } from "./listen-tls.js";
import { nameOf } from "./tls-material.js";

export interface ExpiryOptions {
  /** The certificate that is in use now. */
  readonly certificate: () => X509Certificate;
  /** The file that holds it, if one does. */
  readonly file: string | undefined;
  /** Whether a renewed certificate is used without a restart. */
  readonly isFollowable: boolean;
  readonly onExpiring: (expiry: TlsExpiry) => void;
  /** Ends it. */
  readonly signal: AbortSignal;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** How long before a certificate expires the first warning is emitted. */
const noticeMs = 14 * dayMs;

/**
 * Warns that the certificate in use expires soon, and that it has expired: once a day for each certificate. Checks now, every
 * hour, and whenever the returned function is called, which should happen when another certificate is in use. Keeps no process alive.
 */
export function watchExpiry({ certificate, onExpiring, signal, ...words }: ExpiryOptions): () => void {
  const reportedAt = new Map<string, number>();

  const look = (): void => {
    const now = Date.now();
    for (const [what, at] of reportedAt) if (Math.abs(now - at) >= dayMs) reportedAt.delete(what);
    const { validTo, fingerprint256 } = certificate();
    const validUntil = new Date(validTo);
    const leftMs = validUntil.getTime() - now;
    const isExpired = leftMs <= 0;
    // The expiry itself is reported even on the day of an earlier warning.
    const what = `${fingerprint256} ${isExpired}`;
    if (leftMs > noticeMs || reportedAt.has(what)) return;
    reportedAt.set(what, now);
    try {
      onExpiring({ isExpired, validUntil, message: messageOf(validUntil, leftMs, words) });
    } catch {
      // An exception in the callback must not disturb the listener.
    }
  };

  if (signal.aborted) return look;
  const timer = setInterval(look, hourMs).unref();
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  look();
  return look;
}

function messageOf(
  until: Date,
  leftMs: number,
  { file, isFollowable }: Pick<ExpiryOptions, "file" | "isFollowable">,
): string {
  const name = nameOf({ kind: "certificate", file });
  const end =
    leftMs > 0
      ? `expires ${duration(leftMs)}, at ${until.toISOString()}`
      : `expired at ${until.toISOString()}, and clients reject it`;
  const remedy = isFollowable
    ? "Renew it; the new one is used without a restart."
    : "Renew it, and restart with the new one.";
  return `${name} ${end}. ${remedy}`;
}

function duration(ms: number): string {
  return ms >= 2 * dayMs ? `in ${Math.floor(ms / dayMs)} days` : `in ${Math.ceil(ms / hourMs)} h`;
}
