import { expect, test } from "vitest";
import type { Fix } from "../../causes/cause-table.js";
import type { NetworkEvidence, NetworkFailure, WalkEvidence } from "../evidence.js";
import { base, network } from "./evidence.test.helper.js";
import { networkCauses } from "./network-causes.js";

function causeOf(
  failure: Partial<NetworkFailure>,
  more: Partial<NetworkEvidence> = {},
  seen: Partial<WalkEvidence> = {},
) {
  const shown = {
    ...network,
    ...more,
    failure: { stage: "tls", code: "", message: "It failed.", ...failure },
  } as const;
  const [cause, ...rest] = networkCauses({ ...base, ...seen, network: shown });
  expect(rest).toEqual([]);
  expect(cause).toMatchObject({ weight: 1, problem: "It failed." });
  expect(cause?.fix.advice).toMatch(/^[A-Z].*\.$/);
  return cause;
}

const url = { position: { file: ".mcp.json", line: 5, column: 7 } };
const proxy = { name: "proxy.example:8080", variable: "https_proxy" };

test.each<[NetworkFailure["stage"], string, string, Partial<Fix>]>([
  ["settings", "", "settings-unusable", { advice: "Correct the settings that the message names." }],
  ["name", "ENOTFOUND", "name-unknown", url],
  ["connection", "ECONNREFUSED", "connection-refused", url],
  ["connection", "ECONNRESET", "connection-cut", {}],
  ["connection", "EPIPE", "connection-cut", {}],
  ["connection", "ETIMEDOUT", "connection-timeout", { command: "export HTTPS_PROXY=http://host:port" }],
  ["connection", "EHOSTUNREACH", "connection-timeout", { variable: "HTTPS_PROXY" }],
  ["tls", "CERT_HAS_EXPIRED", "certificate-expired", { advice: expect.stringMatching(/^Renew/), command: "date -u" }],
  ["tls", "CERT_NOT_YET_VALID", "certificate-not-yet-valid", { command: "date -u" }],
  ["tls", "ERR_TLS_CERT_ALTNAME_INVALID", "certificate-host-mismatch", url],
  ["tls", "EPROTO", "not-tls", url],
  ["tls", "ERR_SSL_WRONG_VERSION_NUMBER", "not-tls", url],
  [
    "tls",
    "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED",
    "client-certificate-required",
    { position: { ...url.position, line: 3, column: 5 } },
  ],
  ["tls", "ERR_SSL_NO_CIPHERS_AVAILABLE", "tls-failed", {}],
])("[TS-D-WHY-1] [TS-D-WHY-3] explains a failure at stage %s with %s as %s", (stage, code, expected, fix) => {
  expect(causeOf({ stage, code })).toMatchObject({ code: expected, fix });
});

test.each([
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "certificate-self-signed"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "certificate-untrusted"],
  ["UNABLE_TO_GET_ISSUER_CERT", "certificate-untrusted"],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "certificate-untrusted"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "certificate-untrusted"],
])("[TS-D-WHY-3] suggests trusting an unknown CA (%s), here and in a gateway", (code, expected) => {
  const given = { commandArguments: ["--config", "a.json"] };
  expect(causeOf({ code }, {}, given)).toMatchObject({
    code: expected,
    fix: { command: "wirescope why api --config a.json --ca /path/to/ca.pem --profile work" },
  });
  expect(causeOf({ code }, {}, { ...given, isGateway: true })?.fix.command).toBe("wirescope up --ca /path/to/ca.pem");
});

test.each<[Partial<NetworkFailure>, NetworkEvidence["proxy"], string, string]>([
  [{ variable: "all_proxy" }, undefined, "proxy-unusable", "export all_proxy=…"],
  [{}, undefined, "proxy-unusable", "export HTTPS_PROXY=…"],
  [{ proxyStatus: 407 }, proxy, "proxy-credentials", "export https_proxy=http://user:password@proxy.example:8080"],
  [{ proxyStatus: 403 }, proxy, "proxy-refuses", "export NO_PROXY=api.example.com"],
  [{ proxyStatus: 502, code: "ECONNRESET" }, proxy, "proxy-refuses", "export NO_PROXY=api.example.com"],
  // It responded, but not as a proxy.
  [{ code: "" }, proxy, "proxy-refuses", "export NO_PROXY=api.example.com"],
  [{ code: "ECONNREFUSED" }, proxy, "proxy-unreachable", "export https_proxy=…"],
])("[TS-D-WHY-3] suggests fixing a failing proxy in its own variable: %o", (failure, through, expected, command) => {
  expect(causeOf({ stage: "proxy", ...failure }, { proxy: through })).toMatchObject({
    code: expected,
    fix: { command },
  });
});

test.each(["NO_PROXY", "no_proxy"])(
  "[TS-D-WHY-3] suggests extending the hosts in %s that bypass the proxy",
  (noProxy) => {
    const cause = causeOf({ stage: "proxy", proxyStatus: 403 }, { proxy, noProxy });
    expect(cause?.fix).toMatchObject({ variable: noProxy, command: `export ${noProxy}="$${noProxy},api.example.com"` });
  },
);

test("[TS-D-WHY-3] suggests correcting the variable if the host contains one", () => {
  const tenants = [
    { variable: "REGION", via: "header" },
    { variable: "TENANT", via: "host" },
  ] as unknown as WalkEvidence["tenants"];
  expect(causeOf({ stage: "name" }, {}, { tenants })?.fix).toMatchObject({ command: "export TENANT=…" });
});

test("[TS-D-WHY-2] shows as evidence the host, its addresses and the additional CA certificates", () => {
  const more = { addresses: ["10.0.0.1", "10.0.0.2"], authorities: ["--ca a.pem"] };
  const at = "The server is api.example.com, port 443.";
  const names = "api.example.com resolves to 10.0.0.1, 10.0.0.2.";
  expect(causeOf({}, more)?.evidence).toEqual([at, names, "Additional CA certificates from: --ca a.pem."]);
  expect(causeOf({ stage: "connection" }, more)?.evidence).toEqual([at, names]);
  expect(causeOf({}, { ...more, authorities: [] })?.evidence).toEqual([at, names]);
  // An address needs no lookup.
  expect(causeOf({}, { host: "10.0.0.1", addresses: ["10.0.0.1"] })?.evidence).toHaveLength(1);
  expect(causeOf({ stage: "proxy" }, { proxy, addresses: ["10.0.0.3"] })?.evidence).toEqual([
    "The server is api.example.com, port 443, through the proxy in https_proxy.",
    "the proxy proxy.example:8080 resolves to 10.0.0.3.",
  ]);
});

test("[TS-D-WHY-2] shows as evidence the certificate and a product that intercepts TLS", () => {
  const certificate = { subject: "CN=a", issuer: "CN=Zscaler Root", names: "", validFrom: "2029", validTo: "2031" };
  const shown = "The certificate is for CN=a, signed by CN=Zscaler Root, valid from 2029 until 2031.";
  expect(causeOf({}, { certificate })?.evidence.slice(1)).toEqual([
    shown,
    "A product between here and the server intercepts TLS and signs its own certificate.",
  ]);
  const usual = { ...certificate, issuer: "CN=Example Root", names: "a.example, b.example" };
  expect(causeOf({}, { certificate: usual })?.evidence.slice(1)).toEqual([
    "The certificate is for a.example, b.example, signed by CN=Example Root, valid from 2029 until 2031.",
  ]);
});

test("finds no cause in a network that did not fail", () => {
  expect(networkCauses(base)).toEqual([]);
  expect(networkCauses({ ...base, network })).toEqual([]);
});
