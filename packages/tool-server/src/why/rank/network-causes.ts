import { commandLine } from "../../command-line.js";
import { isClientCertificateAlert } from "../../http/connect-failure.js";
import type { CauseCode } from "../cause-table.js";
import type { Cause, Mend } from "../explanation.js";
import type { CertificateFacts, NetworkFacts, NetworkFailure, WalkFacts } from "../facts.js";
import { bridgeMend, mendBy, mendField, mendVariable } from "./mends.js";

/** Why there is no way to the host: settings, proxy, name, connection, TLS. */
export function networkCauses(facts: WalkFacts): Cause[] {
  const { network } = facts;
  const failure = network?.failure;
  if (network === undefined || failure === undefined) return [];
  const cause = codeOf(failure, network);
  const base = { weight: 1, message: failure.message, evidence: evidenceOf(network) };
  return [{ cause, ...base, mend: mendOf(facts, network, cause) }];
}

function codeOf(failure: NetworkFailure, network: NetworkFacts): CauseCode {
  switch (failure.stage) {
    case "settings":
      return "settings-unusable";
    case "proxy":
      return proxyCode(failure, network);
    case "name":
      return "name-unknown";
    case "connection":
      return connectionCode(failure.code);
    case "tls":
      return tlsCode(failure.code);
  }
}

function proxyCode({ proxyStatus, code }: NetworkFailure, { proxy }: NetworkFacts): CauseCode {
  if (proxy === undefined) return "proxy-unusable";
  if (proxyStatus === 407) return "proxy-credentials";
  // Without a code of the system, it is what the proxy itself said.
  return proxyStatus !== undefined || code === "" ? "proxy-refuses" : "proxy-unreachable";
}

function connectionCode(code: string): CauseCode {
  if (code === "ECONNREFUSED") return "connection-refused";
  return code === "ECONNRESET" || code === "EPIPE" ? "connection-cut" : "connection-timeout";
}

const tlsCodes: Readonly<Record<string, CauseCode>> = {
  CERT_HAS_EXPIRED: "certificate-expired",
  CERT_NOT_YET_VALID: "certificate-not-yet-valid",
  DEPTH_ZERO_SELF_SIGNED_CERT: "certificate-self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "certificate-untrusted",
  UNABLE_TO_GET_ISSUER_CERT: "certificate-untrusted",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "certificate-untrusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "certificate-untrusted",
  ERR_TLS_CERT_ALTNAME_INVALID: "certificate-host-mismatch",
  EPROTO: "tls-not-spoken",
  ERR_SSL_WRONG_VERSION_NUMBER: "tls-not-spoken",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "tls-not-spoken",
};

function tlsCode(code: string): CauseCode {
  if (isClientCertificateAlert(code)) return "client-certificate-wanted";
  return tlsCodes[code] ?? "tls-failed";
}

function evidenceOf({ host, port, proxy, addresses, certificate, authorities, failure }: NetworkFacts): string[] {
  const subject = proxy === undefined ? host : `the proxy ${proxy.name}`;
  const isAddress = addresses[0] === host;
  return [
    `The server is at ${host}, port ${port}${proxy === undefined ? "" : `, behind the proxy of ${proxy.variable}`}.`,
    ...(addresses.length === 0 || isAddress ? [] : [`${subject} stands for ${addresses.join(", ")}.`]),
    ...(certificate === undefined ? [] : certificateEvidence(certificate)),
    ...(failure?.stage === "tls" && authorities.length > 0 ? [`Trusted besides: ${authorities.join(", ")}.`] : []),
  ];
}

/** Who opens TLS on the way, to look inside. */
const inspector =
  /zscaler|netskope|palo ?alto|fortinet|fortigate|blue ?coat|sophos|cisco umbrella|kaspersky|mitmproxy|charles proxy|burp/i;

function certificateEvidence({ subject, issuer, names, validFrom, validTo }: CertificateFacts): string[] {
  const isInspected = inspector.test(issuer);
  return [
    `The certificate is for ${names || subject}, signed by ${issuer}, valid from ${validFrom} until ${validTo}.`,
    ...(isInspected ? ["Something on the way opens TLS to look inside, and signs in the server's place."] : []),
  ];
}

function mendOf(facts: WalkFacts, network: NetworkFacts, cause: CauseCode): Mend {
  const { host, port, proxy } = network;
  const hostVariable = facts.tenants.find(({ via }) => via === "host")?.variable;
  switch (cause) {
    case "proxy-unusable":
      return mendVariable(
        network.failure?.variable ?? "HTTPS_PROXY",
        "Set the variable to the url of the proxy, or unset it.",
      );
    case "proxy-unreachable":
      return mendVariable(proxy?.variable ?? "HTTPS_PROXY", "Correct the host and port of the proxy, or unset it.");
    case "proxy-credentials": {
      const value = `http://user:password@${proxy?.name ?? "host:port"}`;
      return mendVariable(
        proxy?.variable ?? "HTTPS_PROXY",
        "Put the user and the password of the proxy into its url.",
        value,
      );
    }
    case "proxy-refuses":
      return mendVariable(
        "NO_PROXY",
        "Bypass the proxy if that is allowed; otherwise ask its operator to let the host through.",
        host,
      );
    case "name-unknown":
      return hostVariable === undefined
        ? mendField(facts, "url", "Correct the host in the url; check that this machine can look names up.")
        : mendVariable(hostVariable, `The host is made of ${hostVariable}: set it to the name of your tenant.`);
    case "connection-refused":
      return mendField(
        facts,
        "url",
        `Start the server, or correct the port in the url: nothing listens at port ${port}.`,
      );
    case "connection-timeout":
      return mendVariable(
        "HTTPS_PROXY",
        "Check the network, the VPN and the firewall; if a proxy is needed, name it.",
        "http://host:port",
      );
    case "certificate-expired":
      return {
        what: "The certificate has to be renewed on the server. Check the clock of this machine too.",
        command: "date -u",
      };
    case "certificate-not-yet-valid":
      return { what: "Set the clock of this machine.", command: "date -u" };
    case "certificate-self-signed":
    case "certificate-untrusted":
      return trustAuthority(facts);
    case "certificate-host-mismatch":
      return mendField(facts, "url", "Write a host into the url that the certificate names.");
    case "client-certificate-wanted":
      return bridgeMend(facts);
    case "tls-not-spoken":
      return mendField(facts, "url", "Correct the port in the url: what listens there does not speak TLS.");
    case "settings-unusable":
      return { what: "Correct what the message names." };
    default:
      return { what: "Look into the server, and at what stands between." };
  }
}

function trustAuthority(facts: WalkFacts): Mend {
  const what = "If the authority is yours, trust it: give the file of its certificate with --ca";
  return facts.isGateway
    ? { what: `${what}, when you start the gateway.`, command: commandLine("up", "--ca", "/path/to/ca.pem") }
    : mendBy(
        { ...facts, commandArguments: [...facts.commandArguments, "--ca", "/path/to/ca.pem"] },
        ["why"],
        `${what}.`,
      );
}
