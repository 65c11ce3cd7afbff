import { expect, test } from "vitest";
import type { Mend } from "../explanation.js";
import type { NetworkFacts, NetworkFailure, WalkFacts } from "../facts.js";
import { base, network } from "./facts.test.helper.js";
import { networkCauses } from "./network-causes.js";

function causeOf(failure: Partial<NetworkFailure>, more: Partial<NetworkFacts> = {}, facts: Partial<WalkFacts> = {}) {
  const seen = { ...network, ...more, failure: { stage: "tls", code: "", message: "It failed.", ...failure } } as const;
  const [cause, ...rest] = networkCauses({ ...base, ...facts, network: seen });
  expect(rest).toEqual([]);
  expect(cause).toMatchObject({ weight: 1, message: "It failed." });
  return cause;
}

const url = { place: { file: ".mcp.json", line: 5, column: 7 } };
const proxy = { name: "proxy.example:8080", variable: "https_proxy" };

test.each<[NetworkFailure["stage"], string, string, Partial<Mend>]>([
  ["settings", "", "settings-unusable", { what: "Correct what the message names." }],
  ["name", "ENOTFOUND", "name-unknown", url],
  ["connection", "ECONNREFUSED", "connection-refused", url],
  ["connection", "ECONNRESET", "connection-cut", {}],
  ["connection", "EPIPE", "connection-cut", {}],
  ["connection", "ETIMEDOUT", "connection-timeout", { command: "export HTTPS_PROXY=http://host:port" }],
  ["connection", "EHOSTUNREACH", "connection-timeout", { variable: "HTTPS_PROXY" }],
  ["tls", "CERT_HAS_EXPIRED", "certificate-expired", { command: "date -u" }],
  ["tls", "CERT_NOT_YET_VALID", "certificate-not-yet-valid", { command: "date -u" }],
  ["tls", "ERR_TLS_CERT_ALTNAME_INVALID", "certificate-host-mismatch", url],
  ["tls", "EPROTO", "tls-not-spoken", url],
  ["tls", "ERR_SSL_WRONG_VERSION_NUMBER", "tls-not-spoken", url],
  [
    "tls",
    "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED",
    "client-certificate-wanted",
    { place: { ...url.place, line: 3, column: 5 } },
  ],
  ["tls", "ERR_SSL_NO_CIPHERS_AVAILABLE", "tls-failed", {}],
])("[TS-D-WHY-1] [TS-D-WHY-3] a failure of %s with %s is %s", (stage, code, expected, mend) => {
  expect(causeOf({ stage, code })).toMatchObject({ cause: expected, mend });
});

test.each([
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "certificate-self-signed"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "certificate-untrusted"],
  ["UNABLE_TO_GET_ISSUER_CERT", "certificate-untrusted"],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "certificate-untrusted"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "certificate-untrusted"],
])("[TS-D-WHY-3] an authority that is not trusted (%s) can be, here and in a gateway", (code, expected) => {
  const given = { commandArguments: ["--config", "a.json"] };
  expect(causeOf({ code }, {}, given)).toMatchObject({
    cause: expected,
    mend: { command: "wirescope why api --config a.json --ca /path/to/ca.pem --profile work" },
  });
  expect(causeOf({ code }, {}, { ...given, isGateway: true })?.mend.command).toBe("wirescope up --ca /path/to/ca.pem");
});

test.each<[Partial<NetworkFailure>, NetworkFacts["proxy"], string, string]>([
  [{ variable: "all_proxy" }, undefined, "proxy-unusable", "export all_proxy=…"],
  [{}, undefined, "proxy-unusable", "export HTTPS_PROXY=…"],
  [{ proxyStatus: 407 }, proxy, "proxy-credentials", "export https_proxy=http://user:password@proxy.example:8080"],
  [{ proxyStatus: 403 }, proxy, "proxy-refuses", "export NO_PROXY=api.example.com"],
  // It responded, but not as a proxy.
  [{ code: "" }, proxy, "proxy-refuses", "export NO_PROXY=api.example.com"],
  [{ code: "ECONNREFUSED" }, proxy, "proxy-unreachable", "export https_proxy=…"],
])("[TS-D-WHY-3] a failure of the proxy is about its own variable: %o", (failure, through, expected, command) => {
  expect(causeOf({ stage: "proxy", ...failure }, { proxy: through })).toMatchObject({
    cause: expected,
    mend: { command },
  });
});

test("[TS-D-WHY-3] a host that is made of a variable is corrected there", () => {
  const tenants = [
    { variable: "REGION", via: "header" },
    { variable: "TENANT", via: "host" },
  ] as unknown as WalkFacts["tenants"];
  expect(causeOf({ stage: "name" }, {}, { tenants })?.mend).toMatchObject({ command: "export TENANT=…" });
});

test("[TS-D-WHY-2] the evidence is where it was tried, what the name stands for, and whom else is trusted", () => {
  const more = { addresses: ["10.0.0.1", "10.0.0.2"], authorities: ["--ca a.pem"] };
  const at = "The server is at api.example.com, port 443.";
  const names = "api.example.com stands for 10.0.0.1, 10.0.0.2.";
  expect(causeOf({}, more)?.evidence).toEqual([at, names, "Trusted besides: --ca a.pem."]);
  expect(causeOf({ stage: "connection" }, more)?.evidence).toEqual([at, names]);
  expect(causeOf({}, { ...more, authorities: [] })?.evidence).toEqual([at, names]);
  // An address stands for itself.
  expect(causeOf({}, { host: "10.0.0.1", addresses: ["10.0.0.1"] })?.evidence).toHaveLength(1);
  expect(causeOf({ stage: "proxy" }, { proxy, addresses: ["10.0.0.3"] })?.evidence).toEqual([
    "The server is at api.example.com, port 443, behind the proxy of https_proxy.",
    "the proxy proxy.example:8080 stands for 10.0.0.3.",
  ]);
});

test("[TS-D-WHY-2] a certificate is told, and that something on the way signs in the server's place", () => {
  const certificate = { subject: "CN=a", issuer: "CN=Zscaler Root", names: "", validFrom: "2029", validTo: "2031" };
  const shown = "The certificate is for CN=a, signed by CN=Zscaler Root, valid from 2029 until 2031.";
  expect(causeOf({}, { certificate })?.evidence.slice(1)).toEqual([
    shown,
    "Something on the way opens TLS to look inside, and signs in the server's place.",
  ]);
  const usual = { ...certificate, issuer: "CN=Example Root", names: "a.example, b.example" };
  expect(causeOf({}, { certificate: usual })?.evidence.slice(1)).toEqual([
    "The certificate is for a.example, b.example, signed by CN=Example Root, valid from 2029 until 2031.",
  ]);
});

test("a network that did not fail is no cause", () => {
  expect(networkCauses(base)).toEqual([]);
  expect(networkCauses({ ...base, network })).toEqual([]);
});
