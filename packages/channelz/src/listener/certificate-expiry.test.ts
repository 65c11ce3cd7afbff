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

let reported: TlsExpiry[];
let stop: AbortController;
beforeEach(() => {
  reported = [];
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  vi.useRealTimers();
});

/** Sets the time to this long before the certificate expires. */
function itIs(beforeMs: number, toFake: ("Date" | "setInterval" | "clearInterval")[] = ["Date"]): void {
  vi.useFakeTimers({ toFake, now: ending.getTime() - beforeMs });
}

describe("the expiry watch", () => {
  const start = (beforeMs: number, more: Partial<ExpiryOptions> = {}): (() => void) => {
    itIs(beforeMs, ["Date", "setInterval", "clearInterval"]);
    const onExpiring = (expiry: TlsExpiry): void => void reported.push(expiry);
    const { signal } = stop;
    return watchExpiry({ certificate: () => own, file: "/cert", isFollowable: true, onExpiring, signal, ...more });
  };

  test("[CZ-D-LISTEN-8] warns once a day from 14 days before a certificate expires, and once it has expired", () => {
    start(15 * dayMs);
    vi.advanceTimersByTime(23 * hourMs);
    expect(reported).toEqual([]);
    vi.advanceTimersByTime(hourMs);
    expect(reported).toEqual([
      {
        isExpired: false,
        validUntil: ending,
        message:
          'The certificate file "/cert" expires in 14 days, at 2040-01-01T00:00:00.000Z. Renew it; the new one is used without a restart.',
      },
    ]);
    vi.advanceTimersByTime(14 * dayMs - 12 * hourMs);
    expect(reported).toHaveLength(14);
    expect(reported.at(-1)).toMatchObject({
      isExpired: false,
      message: expect.stringContaining(" expires in 24 h, at "),
    });
    vi.advanceTimersByTime(12 * hourMs);
    expect(reported).toHaveLength(15);
    expect(reported.at(-1)).toEqual({
      isExpired: true,
      validUntil: ending,
      message:
        'The certificate file "/cert" expired at 2040-01-01T00:00:00.000Z; clients reject it. Renew it; the new one is used without a restart.',
    });
    vi.advanceTimersByTime(dayMs);
    expect(reported.map(({ isExpired }) => isExpired).slice(13)).toEqual([false, true, true]);
  });

  test("reports an expired certificate at once, even after an expiry warning on the same day", () => {
    start(5 * hourMs);
    vi.advanceTimersByTime(6 * hourMs);
    expect(reported.map(({ isExpired }) => isExpired)).toEqual([false, true]);
  });

  test("[CZ-D-LISTEN-8] warns at start as well, and at once about another certificate", () => {
    let current = own;
    const look = start(2 * dayMs, { certificate: () => current });
    expect(reported).toHaveLength(1);
    look();
    expect(reported).toHaveLength(1);
    current = new X509Certificate(createCertificate("ends too", 2040).cert);
    look();
    expect(reported).toHaveLength(2);
    current = new X509Certificate(createCertificate("lasts", 2056).cert);
    vi.advanceTimersByTime(3 * dayMs);
    expect(reported).toHaveLength(2);
  });

  test("ignores an exception of the onExpiring callback", () => {
    const onExpiring = vi.fn(() => {
      throw new Error("deaf");
    });
    start(dayMs, { onExpiring });
    vi.advanceTimersByTime(dayMs);
    expect(onExpiring).toHaveBeenCalledTimes(2);
  });

  test("reports nothing after it was stopped", () => {
    start(dayMs);
    expect(vi.getTimerCount()).toBe(1);
    stop.abort();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("the expiry warnings of a listener", () => {
  let folder: string;
  let tls: ListenTls;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "wirescope-expiry-"));
    const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    writeFileSync(certFile, pair.cert);
    writeFileSync(keyFile, pair.key);
    tls = { cert: { file: certFile }, key: { file: keyFile }, onExpiring: (expiry) => reported.push(expiry) };
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test.each([
    ["TLS_CERTIFICATE_EXPIRING", hourMs, /^The given certificate expires in 1 h, .*restart with the new one/],
    ["TLS_CERTIFICATE_EXPIRED", -hourMs, /^The given certificate expired at 2040-01-01T00:00:00\.000Z; /],
  ])("emits a process warning by default: %s", async (code, beforeMs, message) => {
    itIs(beforeMs);
    const warned = once(process, "warning");
    const listener = await listenChannelz(createRegistry(), { tls: pair });
    expect((await warned)[0]).toMatchObject({ name: "ChannelzWarning", code, message: expect.stringMatching(message) });
    await listener.close();
  });

  test("reports a renewed certificate that expires soon as well, once it is in use", async () => {
    itIs(10 * dayMs);
    const heard: string[] = [];
    const context = openTlsContext({
      ...tls,
      onChange: ({ message }) => heard.push(message),
      onExpiring: ({ message }) => heard.push(message),
    });
    context.follow(() => {}, stop.signal, { recheckMs: 5, reportAfterMs: 60_000 });
    expect(heard).toEqual([expect.stringMatching(/expires in 10 days/)]);
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
      expect.stringMatching(/is now in use/),
      expect.stringMatching(/^The certificate file ".*cert\.pem" expires in 10 days, .* without a restart\.$/),
    ]);
  });

  test("reports nothing while the expiry date is far away", async () => {
    itIs(14 * dayMs + hourMs);
    const listener = await listenChannelz(createRegistry(), { tls });
    expect(reported).toEqual([]);
    await listener.close();
  });
});
