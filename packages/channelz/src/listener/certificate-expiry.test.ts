import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createRegistry } from "../registry/registry.js";
import { createCertificate } from "./certificate.test.helper.js";
import { type ExpiryOptions, watchExpiry } from "./certificate-expiry.js";
import { listenChannelz } from "./listen.js";
import type { ListenTls, TlsExpiry } from "./listen-tls.js";
import { eventually } from "./raw-caller.test.helper.js";
import { openTlsContext } from "./tls-context.js";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const pair = createCertificate("ends", 2040);
const own = new X509Certificate(pair.cert);
const ending = new Date("2040-01-01T00:00:00.000Z");

let told: TlsExpiry[];
let stop: AbortController;
beforeEach(() => {
  told = [];
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  vi.useRealTimers();
});

/** Lets it be so long before the end of the certificate. */
function itIs(beforeMs: number, toFake: ("Date" | "setInterval" | "clearInterval")[] = ["Date"]): void {
  vi.useFakeTimers({ toFake, now: ending.getTime() - beforeMs });
}

describe("as time goes by", () => {
  const start = (beforeMs: number, more: Partial<ExpiryOptions> = {}): (() => void) => {
    itIs(beforeMs, ["Date", "setInterval", "clearInterval"]);
    const onExpiring = (expiry: TlsExpiry): void => void told.push(expiry);
    const { signal } = stop;
    return watchExpiry({ certificate: () => own, file: "/cert", isFollowable: true, onExpiring, signal, ...more });
  };

  test("[CZ-D-LISTEN-8] a certificate is told of from 14 days before its end, once a day, and once it has run out", () => {
    start(15 * dayMs);
    vi.advanceTimersByTime(23 * hourMs);
    expect(told).toEqual([]);
    vi.advanceTimersByTime(hourMs);
    expect(told).toEqual([
      {
        isExpired: false,
        validUntil: ending,
        message:
          'The certificate file "/cert" runs out in 14 days, at 2040-01-01T00:00:00.000Z. Renew it; the new one counts without a restart.',
      },
    ]);
    vi.advanceTimersByTime(14 * dayMs - 12 * hourMs);
    expect(told).toHaveLength(14);
    expect(told.at(-1)).toMatchObject({ isExpired: false, message: expect.stringContaining(" runs out in 24 h, at ") });
    vi.advanceTimersByTime(12 * hourMs);
    expect(told).toHaveLength(15);
    expect(told.at(-1)).toEqual({
      isExpired: true,
      validUntil: ending,
      message:
        'The certificate file "/cert" ran out at 2040-01-01T00:00:00.000Z, and callers refuse it. Renew it; the new one counts without a restart.',
    });
    vi.advanceTimersByTime(dayMs);
    expect(told.map(({ isExpired }) => isExpired).slice(13)).toEqual([false, true, true]);
  });

  test("that it has run out is told at once, also where that it will was told today", () => {
    start(5 * hourMs);
    vi.advanceTimersByTime(6 * hourMs);
    expect(told.map(({ isExpired }) => isExpired)).toEqual([false, true]);
  });

  test("[CZ-D-LISTEN-8] it is told at the start as well, and of another certificate at once", () => {
    let current = own;
    const look = start(2 * dayMs, { certificate: () => current });
    expect(told).toHaveLength(1);
    look();
    expect(told).toHaveLength(1);
    current = new X509Certificate(createCertificate("ends too", 2040).cert);
    look();
    expect(told).toHaveLength(2);
    current = new X509Certificate(createCertificate("lasts", 2056).cert);
    vi.advanceTimersByTime(3 * dayMs);
    expect(told).toHaveLength(2);
  });

  test("whoever is told may throw", () => {
    const onExpiring = vi.fn(() => {
      throw new Error("deaf");
    });
    start(dayMs, { onExpiring });
    vi.advanceTimersByTime(dayMs);
    expect(onExpiring).toHaveBeenCalledTimes(2);
  });

  test("once it is ended, nothing is told any more", () => {
    start(dayMs);
    expect(vi.getTimerCount()).toBe(1);
    stop.abort();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("of a listener", () => {
  let folder: string;
  let tls: ListenTls;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "wirescope-expiry-"));
    const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    writeFileSync(certFile, pair.cert);
    writeFileSync(keyFile, pair.key);
    tls = { cert: { file: certFile }, key: { file: keyFile }, onExpiring: (expiry) => told.push(expiry) };
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test.each([
    [
      "TLS_CERTIFICATE_EXPIRING",
      hourMs,
      /^The certificate that is given runs out in 1 h, .*start again with the new one/,
    ],
    ["TLS_CERTIFICATE_EXPIRED", -hourMs, /^The certificate that is given ran out at 2040-01-01T00:00:00\.000Z, and /],
  ])("it is a warning of the process by default: %s", async (code, beforeMs, message) => {
    itIs(beforeMs);
    const warned = once(process, "warning");
    const listener = await listenChannelz(createRegistry(), { tls: pair });
    expect((await warned)[0]).toMatchObject({ name: "ChannelzWarning", code, message: expect.stringMatching(message) });
    await listener.close();
  });

  test("a renewed certificate that runs out as well is told of once it counts", async () => {
    itIs(10 * dayMs);
    const heard: string[] = [];
    const context = openTlsContext({
      ...tls,
      onChange: ({ message }) => heard.push(message),
      onExpiring: ({ message }) => heard.push(message),
    });
    context.follow(() => {}, stop.signal, { recheckMs: 5, patienceMs: 60_000 });
    expect(heard).toEqual([expect.stringMatching(/runs out in 10 days/)]);
    const next = createCertificate("ends too", 2040);
    for (const [name, text] of [
      ["cert.pem", next.cert],
      ["key.pem", next.key],
    ] as const) {
      writeFileSync(join(folder, "new.pem"), text);
      renameSync(join(folder, "new.pem"), join(folder, name));
    }
    await eventually(() => heard.length >= 3);
    expect(heard.slice(1)).toEqual([
      expect.stringMatching(/counts from now on/),
      expect.stringMatching(/^The certificate file ".*cert\.pem" runs out in 10 days, .* without a restart\.$/),
    ]);
  });

  test("nothing is told while the end is far", async () => {
    itIs(14 * dayMs + hourMs);
    const listener = await listenChannelz(createRegistry(), { tls });
    expect(told).toEqual([]);
    await listener.close();
  });
});
