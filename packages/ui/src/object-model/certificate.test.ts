import fc from "fast-check";
import { expect, test } from "vitest";
import { readCertificate, validityOf } from "./certificate.js";

/** Issued by a CA that exists only for this test. */
const pem = `-----BEGIN CERTIFICATE-----
MIICJDCCAcqgAwIBAgIDHwCqMAoGCCqGSM49BAMCMD4xCzAJBgNVBAYTAk5MMRUw
EwYDVQQKDAxFeGFtcGxlIEIuVi4xGDAWBgNVBAMMD29yZGVycy5pbnRlcm5hbDAg
Fw0yNjExMTYxNzI0MjBaGA8yMTI2MTAyMzE3MjQyMFowPjELMAkGA1UEBhMCTkwx
FTATBgNVBAoMDEV4YW1wbGUgQi5WLjEYMBYGA1UEAwwPb3JkZXJzLmludGVybmFs
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE/2DG+p1Ksy+BPRmZvrM1Cxoyi1dJ
lHgxJbsWoMQotYSCWPnv1F70plCXJ7le+kY13Fa/FbHHtYB6g2W4DU0PiaOBtDCB
sTAdBgNVHQ4EFgQUlACl9Jc/YDZpjP9LPbq/O0KNv8MwHwYDVR0jBBgwFoAUlACl
9Jc/YDZpjP9LPbq/O0KNv8MwDwYDVR0TAQH/BAUwAwEB/zBeBgNVHREEVzBVgg9v
cmRlcnMuaW50ZXJuYWyCESoub3JkZXJzLmludGVybmFshwQKAAAHhxAgAQ24AAAA
AAAAAAAAAAAFhhdzcGlmZmU6Ly9leGFtcGxlL29yZGVyczAKBggqhkjOPQQDAgNI
ADBFAiAth3zfUWvWhAuyHy7KxFeWVvntLUuJaeqMPoEqkTi4UQIhAIIqoXXarQnz
7EFswRuNsbjGVDaFPmVDUpJJEvXktSVH
-----END CERTIFICATE-----
`;
const der = Uint8Array.from(atob(pem.replace(/-----.*-----|\s/g, "")), (each) => each.charCodeAt(0));

test("reads names, validity and serial number of a certificate, from DER and from PEM", async () => {
  for (const bytes of [der, new TextEncoder().encode(pem)]) {
    expect(await readCertificate(bytes)).toEqual({
      subject: "C=NL, O=Example B.V., CN=orders.internal",
      issuer: "C=NL, O=Example B.V., CN=orders.internal",
      names: [
        "orders.internal",
        "*.orders.internal",
        "10.0.0.7",
        "2001:0db8:0000:0000:0000:0000:0000:0005",
        "spiffe://example/orders",
      ],
      serial: "1f:00:aa",
      notBeforeMs: Date.UTC(2026, 10, 16, 17, 24, 20),
      notAfterMs: Date.UTC(2126, 9, 23, 17, 24, 20),
    });
  }
});

test("returns nothing for bytes that are not a certificate, whatever they are", async () => {
  expect(await readCertificate(Uint8Array.of(1, 2, 3))).toBeUndefined();
  expect(await readCertificate(new Uint8Array(0))).toBeUndefined();
  // A sequence in a sequence, and so on.
  expect(await readCertificate(new Uint8Array(60_000).fill(0x30))).toBeUndefined();
  await fc.assert(
    fc.asyncProperty(
      fc.nat(der.length - 1),
      fc.integer({ min: 0, max: 255 }),
      fc.nat(der.length),
      async (at, value, length) => {
        const damaged = Uint8Array.from(der.slice(0, length));
        if (at < length) damaged[at] = value;
        await readCertificate(damaged);
      },
    ),
    { numRuns: 200 },
  );
});

test("[TS-D-PAGE-13] reports whether a certificate is valid, expires within 14 days, has expired, or is not valid yet", () => {
  const dayMs = 24 * 3_600_000;
  const certificate = { notBeforeMs: 0, notAfterMs: 100 * dayMs };
  const words = [-1, 0, 86 * dayMs, 86 * dayMs + 1, 100 * dayMs, 100 * dayMs + 1].map((nowMs) =>
    validityOf(certificate, nowMs),
  );
  expect(words).toEqual([
    ["failing", "not valid yet"],
    ["ready", "valid"],
    ["ready", "valid"],
    ["waiting", "expires soon"],
    ["waiting", "expires soon"],
    ["failing", "expired"],
  ]);
});
