import type { X509Certificate } from "node:crypto";
import type { TlsExpiry } from "./listen-tls.js";
import { nameOf } from "./tls-material.js";

export interface ExpiryOptions {
  readonly certificate: () => X509Certificate;
  /** The file of the certificate, if it has one. */
  readonly file: string | undefined;
  /** Whether a renewed certificate is used without a restart. */
  readonly isFollowable: boolean;
  readonly onExpiring: (expiry: TlsExpiry) => void;
  /** Stops the checks. */
  readonly signal: AbortSignal;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** How long before a certificate expires the first warning is emitted. */
const noticeMs = 14 * dayMs;

/**
 * Warns when the certificate in use expires soon or has expired, once a day for each certificate. Checks now, every hour, and
 * whenever the returned function is called; call it when the certificate changes. Does not keep the process alive.
 */
export function watchExpiry({ certificate, onExpiring, signal, ...origin }: ExpiryOptions): () => void {
  const reportedAt = new Map<string, number>();

  const check = (): void => {
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
      onExpiring({ isExpired, validUntil, message: messageOf(validUntil, leftMs, origin) });
    } catch {
      // An exception in the callback must not disturb the listener.
    }
  };

  if (signal.aborted) return check;
  const timer = setInterval(check, hourMs).unref();
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  check();
  return check;
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
      : `expired at ${until.toISOString()}; clients reject it`;
  const remedy = isFollowable
    ? "Renew it; the new one is used without a restart."
    : "Renew it, and restart with the new one.";
  return `${name} ${end}. ${remedy}`;
}

function duration(ms: number): string {
  return ms >= 2 * dayMs ? `in ${Math.floor(ms / dayMs)} days` : `in ${Math.ceil(ms / hourMs)} h`;
}
