import type { Cause, CauseCode, Fix } from "../../causes/cause-table.js";
import { fixByBridge, fixByCommand, fixField, fixVariable } from "../../causes/fixes.js";
import { states } from "../../causes/peer-text.js";
import { commandLine } from "../../command-line.js";
import { isClientCertificateAlert } from "../../http/http-failure.js";
import {
  type CertificateEvidence,
  describeCertificate,
  type NetworkEvidence,
  type NetworkFailure,
  type WalkEvidence,
} from "../evidence.js";

/** Why the host cannot be reached: settings, proxy, name, connection, TLS. */
export function networkCauses(seen: WalkEvidence): Cause[] {
  const { network } = seen;
  const failure = network?.failure;
  if (network === undefined || failure === undefined) return [];
  const code = codeOf(failure, network);
  const fix = fixFor(seen, network, code);
  return [{ code, weight: 1, problem: failure.message, evidence: evidenceOf(network), fix }];
}

function codeOf(failure: NetworkFailure, network: NetworkEvidence): CauseCode {
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
      return isClientCertificateAlert(failure.code)
        ? "client-certificate-required"
        : (tlsCodes[failure.code] ?? "tls-failed");
  }
}

function proxyCode({ proxyStatus, code }: NetworkFailure, { proxy }: NetworkEvidence): CauseCode {
  if (proxy === undefined) return "proxy-unusable";
  if (proxyStatus === 407) return "proxy-credentials";
  // Without a system error code, the proxy itself refused.
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
  EPROTO: "not-tls",
  ERR_SSL_WRONG_VERSION_NUMBER: "not-tls",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "not-tls",
};

function evidenceOf({ host, port, proxy, addresses, certificate, authorities, failure }: NetworkEvidence): string[] {
  const subject = proxy === undefined ? host : `the proxy ${proxy.name}`;
  const isAddress = addresses[0] === host;
  return [
    `The server is ${host}, port ${port}${proxy === undefined ? "" : `, through the proxy in ${proxy.variable}`}.`,
    ...(addresses.length === 0 || isAddress ? [] : [`${subject} resolves to ${addresses.join(", ")}.`]),
    ...(certificate === undefined ? [] : certificateEvidence(certificate)),
    ...(failure?.stage === "tls" && authorities.length > 0
      ? [`Additional CA certificates from: ${authorities.join(", ")}.`]
      : []),
  ];
}

function certificateEvidence(certificate: CertificateEvidence): string[] {
  const inspected = "A product between here and the server intercepts TLS and signs its own certificate.";
  return [describeCertificate(certificate), ...(states(certificate.issuer, "tls-intercepted") ? [inspected] : [])];
}

function fixFor(seen: WalkEvidence, network: NetworkEvidence, code: CauseCode): Fix {
  const { host, port, proxy, noProxy } = network;
  const { variable: given } = network.failure ?? {};
  const { variable: proxyVariable = "HTTPS_PROXY" } = proxy ?? {};
  const hostVariable = seen.tenants.find(({ via }) => via === "host")?.variable;
  switch (code) {
    case "proxy-unusable":
      return fixVariable(given ?? "HTTPS_PROXY", "Set the variable to the URL of the proxy, or unset it.");
    case "proxy-unreachable":
      return fixVariable(proxyVariable, "Correct the host and port of the proxy, or unset the variable.");
    case "proxy-credentials": {
      const value = `http://user:password@${proxy?.name ?? "host:port"}`;
      return fixVariable(proxyVariable, "Add the user name and password to the URL of the proxy.", value);
    }
    case "proxy-refuses": {
      const advice = "Bypass the proxy if that is allowed. Otherwise ask its operator to allow the host.";
      return fixVariable(noProxy ?? "NO_PROXY", advice, noProxy === undefined ? host : `"$${noProxy},${host}"`);
    }
    case "name-unknown":
      return hostVariable === undefined
        ? fixField(seen, "url", "Correct the host in the url, and check that DNS works on this machine.")
        : fixVariable(hostVariable, `The host contains ${hostVariable}: set it to the name of your tenant.`);
    case "connection-refused": {
      const advice = `Start the server, or correct the port in the url: nothing listens on port ${port}.`;
      return fixField(seen, "url", advice);
    }
    case "connection-timeout": {
      const advice = "Check the network, the VPN and the firewall. If a proxy is required, set it.";
      return fixVariable("HTTPS_PROXY", advice, "http://host:port");
    }
    case "certificate-expired": {
      const advice = "Renew the certificate on the server. Also check the clock of this machine.";
      return { advice, command: "date -u" };
    }
    case "certificate-not-yet-valid":
      return { advice: "Correct the clock of this machine.", command: "date -u" };
    case "certificate-self-signed":
    case "certificate-untrusted":
      return trustCa(seen);
    case "certificate-host-mismatch":
      return fixField(seen, "url", "Use a host in the url that the certificate names.");
    case "client-certificate-required":
      return fixByBridge(seen);
    case "not-tls":
      return fixField(seen, "url", "Correct the port in the url: the server there does not use TLS.");
    case "settings-unusable":
      return { advice: "Correct the settings that the message names." };
    default:
      return { advice: "Check the server's log, and the proxies in between." };
  }
}

function trustCa(seen: WalkEvidence): Fix {
  const advice = "If you trust the CA, pass its certificate file with --ca";
  const option = ["--ca", "/path/to/ca.pem"];
  if (seen.isGateway) return { advice: `${advice} when you start the gateway.`, command: commandLine("up", ...option) };
  const commandArguments = [...(seen.commandArguments ?? []), ...option];
  return fixByCommand({ ...seen, commandArguments }, ["why"], `${advice}.`);
}
