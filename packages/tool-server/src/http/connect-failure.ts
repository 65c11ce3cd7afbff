import { type ConnectingDetails, ToolServerError } from "../errors.js";
import { printableText } from "../printable-text.js";

/** A connection that failed. */
export interface FailedConnection {
  /** Whom it was to reach: `the server "files"`. */
  readonly leg: string;
  /** The host and port that were asked for. */
  readonly remoteName: string;
  /** The host that was being connected to, or spoken with, when it failed: the proxy or the server. */
  readonly host: string;
  readonly stage: ConnectingDetails["stage"];
  /** The proxy, with the variable that names it. */
  readonly proxy: { readonly name: string; readonly variable: string } | undefined;
  /** Whether it was the proxy and not the server that could not be reached or secured. */
  readonly isProxyItself: boolean;
  readonly error: unknown;
}

/** That nobody was reached: SERVER_UNREACHABLE, which says who, where, why, and what to do next. `redact` takes secrets out. */
export function connectFailure(failed: FailedConnection, redact: (text: string) => string): ToolServerError {
  const { leg, remoteName, proxy, error, stage, isProxyItself } = failed;
  const through = proxy === undefined ? "" : ` through the proxy ${proxy.name} (${proxy.variable})`;
  const { what, advice } = explain(failed);
  const parts = { problem: redact(`Cannot reach ${leg} at ${remoteName}${through}: ${what}.`), advice: redact(advice) };
  const connecting: ConnectingDetails = {
    stage,
    isProxyItself,
    ...(error instanceof ConnectObstacle && error.proxyStatus !== undefined ? { proxyStatus: error.proxyStatus } : {}),
    ...(stage === "securing" && isClientCertificateAlert(codeOf(error)) ? { needsClientCertificate: true } : {}),
  };
  return new ToolServerError("SERVER_UNREACHABLE", parts, { cause: error, details: { wasSent: false, connecting } });
}

/** What went wrong while a connection was made, where it is not an error of the system. */
export class ConnectObstacle extends Error {
  override readonly name = "ConnectObstacle";
  readonly advice: string;
  /** The HTTP status that a proxy responded with. */
  readonly proxyStatus: number | undefined;

  constructor(message: string, advice: string, proxyStatus?: number) {
    super(message);
    this.advice = advice;
    this.proxyStatus = proxyStatus;
  }
}

interface Explanation {
  /** A clause. */
  readonly what: string;
  /** A sentence. */
  readonly advice: string;
}

function explain({ host, stage, error, isProxyItself, proxy }: FailedConnection): Explanation {
  if (error instanceof ConnectObstacle) return { what: error.message, advice: error.advice };
  const code = codeOf(error);
  if (stage === "securing") return explainTls(code, host, error);
  const subject = isProxyItself ? "the proxy" : "the server";
  const setting = isProxyItself ? (proxy?.variable ?? "the proxy") : "the url";
  switch (code) {
    case "ENOTFOUND":
      return {
        what: `the name ${host} is not known (${code})`,
        advice: `Check the host in ${setting}, and that this machine can look names up.`,
      };
    case "EAI_AGAIN":
      return {
        what: `the name ${host} could not be looked up (${code})`,
        advice: "Check the network and its name servers, and try again.",
      };
    case "ECONNREFUSED":
      return {
        what: `nothing listens there (${code})`,
        advice: `Check that ${subject} runs, and the port in ${setting}.`,
      };
    case "EHOSTUNREACH":
    case "ENETUNREACH":
    case "EADDRNOTAVAIL":
      return {
        what: `there is no way to it (${code})`,
        advice: "Check the network, the VPN, and whether a proxy is needed.",
      };
    case "ETIMEDOUT":
      return {
        what: `it did not answer (${code})`,
        advice: "Check the network and its firewalls, and whether a proxy is needed.",
      };
    case "ECONNRESET":
    case "EPIPE":
      return {
        what: `the connection was cut while it was made (${code})`,
        advice: `Check that ${subject} is well, and what stands between.`,
      };
    default:
      return { what: said(error, code), advice: `Check ${setting} and the network.` };
  }
}

function explainTls(code: string, host: string, error: unknown): Explanation {
  switch (code) {
    case "CERT_HAS_EXPIRED":
      return {
        what: `the certificate of ${host} has expired (${code})`,
        advice: "It has to be renewed there; check the clock of this machine too.",
      };
    case "CERT_NOT_YET_VALID":
      return {
        what: `the certificate of ${host} is not valid yet (${code})`,
        advice: "Check the clock of this machine.",
      };
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
      return { what: `the certificate of ${host} is signed by itself (${code})`, advice: trustAdvice };
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "UNABLE_TO_GET_ISSUER_CERT":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
      return {
        what: `the certificate of ${host} is signed by an authority that is not trusted here (${code})`,
        advice: trustAdvice,
      };
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return {
        what: `the certificate there is not for ${host}${namesOf(error)} (${code})`,
        advice: "Write a host into the url that the certificate names.",
      };
    case "CERT_REVOKED":
      return { what: `the certificate of ${host} was revoked (${code})`, advice: "It has to be replaced there." };
    case "ECONNRESET":
      return {
        what: `${host} ended the connection during the TLS handshake (${code})`,
        advice: "Check that the port speaks TLS, and whether the server asks for a client certificate.",
      };
    case "EPROTO":
    case "ERR_SSL_WRONG_VERSION_NUMBER":
    case "ERR_SSL_PACKET_LENGTH_TOO_LONG":
      return {
        what: `${host} does not speak TLS on that port (${code})`,
        advice: "Check the port and the scheme of the url.",
      };
    default:
      if (isClientCertificateAlert(code)) {
        return {
          what: `${host} asks for a client certificate, and does not accept what it was given (${code})`,
          advice: "Use a bridge with --cert and --key.",
        };
      }
      return {
        what: `the TLS handshake failed: ${said(error, code)}`,
        advice: "Check which versions of TLS and which certificates the server accepts.",
      };
  }
}

const trustAdvice = "Where the authority is yours, give its certificate with --ca, or in NODE_EXTRA_CA_CERTS.";

/** Whether an error of TLS is the alert of a server that wants another client certificate. */
export function isClientCertificateAlert(code: string): boolean {
  return /^ERR_SSL_.*ALERT_(?:CERTIFICATE_REQUIRED|BAD_CERTIFICATE|UNKNOWN_CA|CERTIFICATE_UNKNOWN|UNSUPPORTED_CERTIFICATE|HANDSHAKE_FAILURE|ACCESS_DENIED)$/.test(
    code,
  );
}

/** The code of an error of the system; of several, that of the first. */
export function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}

function said(error: unknown, code: string): string {
  const text = error instanceof Error && error.message !== "" ? error.message : String(error);
  return code === "" || text.includes(code) ? printableText(text, 300) : `${printableText(text, 300)} (${code})`;
}

/** The names of the certificate that Node found not to be for the host. */
function namesOf(error: unknown): string {
  const { subjectaltname } = (error as { cert?: { subjectaltname?: unknown } }).cert ?? {};
  return typeof subjectaltname === "string" ? `, but for ${printableText(subjectaltname, 300)}` : "";
}
