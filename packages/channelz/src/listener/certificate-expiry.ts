import type { X509Certificate } from "node:crypto";
import type { TlsExpiry } from "./listen-tls.js";
import { nameOf } from "./tls-material.js";

export interface ExpiryOptions {
  /** The certificate that is in use now. */
  readonly certificate: () => X509Certificate;
  /** The file that holds it, if one does. */
  readonly file: string | undefined;
  /** Whether a renewed one counts by itself. */
  readonly isFollowable: boolean;
  readonly onExpiring: (expiry: TlsExpiry) => void;
  /** Ends it. */
  readonly signal: AbortSignal;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** How long before the end of a certificate that is told for the first time. */
const noticeMs = 14 * dayMs;

/**
 * Tells that the certificate in use runs out soon, and that it has run out: of each certificate once a day. Looks now, every
 * hour, and whenever what it gives is called, as it should be when another is in use. Keeps no process alive.
 */
export function watchExpiry({ certificate, onExpiring, signal, ...words }: ExpiryOptions): () => void {
  const toldAt = new Map<string, number>();

  const look = (): void => {
    const now = Date.now();
    for (const [what, at] of toldAt) if (Math.abs(now - at) >= dayMs) toldAt.delete(what);
    const { validTo, fingerprint256 } = certificate();
    const validUntil = new Date(validTo);
    const leftMs = validUntil.getTime() - now;
    const isExpired = leftMs <= 0;
    // That it has run out is news, also on the day on which it was told that it will.
    const what = `${fingerprint256} ${isExpired}`;
    if (leftMs > noticeMs || toldAt.has(what)) return;
    toldAt.set(what, now);
    try {
      onExpiring({ isExpired, validUntil, message: messageOf(validUntil, leftMs, words) });
    } catch {
      // Who is told must not disturb the listener.
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
      ? `runs out ${duration(leftMs)}, at ${until.toISOString()}`
      : `ran out at ${until.toISOString()}, and callers refuse it`;
  const remedy = isFollowable
    ? "Renew it; the new one counts without a restart."
    : "Renew it, and start again with the new one.";
  return `${name} ${end}. ${remedy}`;
}

function duration(ms: number): string {
  return ms >= 2 * dayMs ? `in ${Math.floor(ms / dayMs)} days` : `in ${Math.ceil(ms / hourMs)} h`;
}
