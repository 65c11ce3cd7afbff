import { type ConnectingDetails, messageOf, ToolServerError } from "../errors.js";
import { printableText } from "../printable-text.js";
import type { Redact } from "../secrets/redactor.js";

/** A failed attempt to connect. */
interface FailedConnection {
  /** The peer's name: `the server "files"`. */
  readonly peer: string;
  /** The requested host and port. */
  readonly remoteName: string;
  /** The host of the failing step: the proxy or the server. */
  readonly host: string;
  readonly stage: ConnectingDetails["stage"];
  /** The proxy, with the variable that names it. */
  readonly proxy: { readonly name: string; readonly variable: string } | undefined;
  /** Whether the failing step concerned the proxy and not the server. */
  readonly isProxyItself: boolean;
  readonly error: unknown;
}

/** Creates SERVER_UNREACHABLE with the peer, the address, the reason and what to do next. `redact` redacts secrets. */
export function connectFailure(failed: FailedConnection, redact: Redact): ToolServerError {
  const { peer, remoteName, proxy, error, stage, isProxyItself } = failed;
  const through = proxy === undefined ? "" : ` through the proxy ${proxy.name} (${proxy.variable})`;
  const { what, advice } = explain(failed);
  const parts = {
    problem: redact(`Cannot reach ${peer} at ${remoteName}${through}: ${what}.`, "own"),
    advice: redact(advice, "own"),
  };
  const connecting: ConnectingDetails = {
    stage,
    isProxyItself,
    ...(error instanceof ConnectObstacle && error.proxyStatus !== undefined ? { proxyStatus: error.proxyStatus } : {}),
    ...(stage === "securing" && isClientCertificateAlert(codeOf(error)) ? { needsClientCertificate: true } : {}),
  };
  return new ToolServerError("SERVER_UNREACHABLE", parts, { cause: error, details: { wasSent: false, connecting } });
}

/** A reason for a failed connection other than a system error. */
export class ConnectObstacle extends Error {
  override readonly name = "ConnectObstacle";
  readonly advice: string;
  /** The HTTP status of the proxy's response. */
  readonly proxyStatus: number | undefined;

  constructor(message: string, advice: string, proxyStatus?: number) {
    super(message);
    this.advice = advice;
    this.proxyStatus = proxyStatus;
  }
}

interface FailureText {
  /** A clause. */
  readonly what: string;
  /** A sentence. */
  readonly advice: string;
}

function explain({ host, stage, error, isProxyItself, proxy }: FailedConnection): FailureText {
  if (error instanceof ConnectObstacle) return { what: error.message, advice: error.advice };
  const code = codeOf(error);
  if (stage === "securing") return explainTls(code, host, error);
  const subject = isProxyItself ? "the proxy" : "the server";
  const setting = isProxyItself ? (proxy?.variable ?? "the proxy") : "the URL";
  switch (code) {
    case "ENOTFOUND":
      return {
        what: `the host name ${host} does not exist (${code})`,
        advice: `Check the host in ${setting}, and that this machine can resolve names.`,
      };
    case "EAI_AGAIN":
      return {
        what: `the host name ${host} could not be resolved (${code})`,
        advice: "Check the network and its DNS servers, and try again.",
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
        what: `no route to it (${code})`,
        advice: "Check the network, the VPN, and whether a proxy is needed.",
      };
    case "ETIMEDOUT":
      return {
        what: `it did not respond (${code})`,
        advice: "Check the network and its firewalls, and whether a proxy is needed.",
      };
    case "ECONNRESET":
    case "EPIPE":
      return {
        what: `the connection was reset while connecting (${code})`,
        advice: `Check that ${subject} works, and any proxy or firewall in between.`,
      };
    default:
      return { what: said(error, code), advice: `Check ${setting} and the network.` };
  }
}

function explainTls(code: string, host: string, error: unknown): FailureText {
  switch (code) {
    case "CERT_HAS_EXPIRED":
      return {
        what: `the certificate of ${host} has expired (${code})`,
        advice: "It has to be renewed on the server; also check the clock of this machine.",
      };
    case "CERT_NOT_YET_VALID":
      return {
        what: `the certificate of ${host} is not valid yet (${code})`,
        advice: "Check the clock of this machine.",
      };
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
      return { what: `the certificate of ${host} is self-signed (${code})`, advice: trustAdvice };
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "UNABLE_TO_GET_ISSUER_CERT":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
      return {
        what: `the certificate of ${host} is signed by a CA that is not trusted here (${code})`,
        advice: trustAdvice,
      };
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return {
        what: `the certificate is not valid for ${host}${namesOf(error)} (${code})`,
        advice: "Use a host name in the URL that the certificate contains.",
      };
    case "CERT_REVOKED":
      return {
        what: `the certificate of ${host} was revoked (${code})`,
        advice: "It has to be replaced on the server.",
      };
    case "ECONNRESET":
      return {
        what: `${host} closed the connection during the TLS handshake (${code})`,
        advice: "Check that the port uses TLS, and whether the server requires a client certificate.",
      };
    case "EPROTO":
    case "ERR_SSL_WRONG_VERSION_NUMBER":
    case "ERR_SSL_PACKET_LENGTH_TOO_LONG":
      return {
        what: `${host} does not use TLS on that port (${code})`,
        advice: "Check the port and the scheme of the URL.",
      };
    default:
      if (isClientCertificateAlert(code)) {
        return {
          what: `${host} requires a client certificate, or rejected the one it was sent (${code})`,
          advice: "Use a bridge with --cert and --key.",
        };
      }
      return {
        what: `the TLS handshake failed: ${said(error, code)}`,
        advice: "Check which TLS versions and certificates the server accepts.",
      };
  }
}

const trustAdvice = "If the CA is yours, pass its certificate with --ca or in NODE_EXTRA_CA_CERTS.";

/** Whether a TLS error is the alert of a server that requires another client certificate. */
export function isClientCertificateAlert(code: string): boolean {
  return /^ERR_SSL_.*ALERT_(?:CERTIFICATE_REQUIRED|BAD_CERTIFICATE|UNKNOWN_CA|CERTIFICATE_UNKNOWN|UNSUPPORTED_CERTIFICATE|HANDSHAKE_FAILURE|ACCESS_DENIED)$/.test(
    code,
  );
}

/** The code of a system error; of the first, if there are several. */
export function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}

function said(error: unknown, code: string): string {
  const text = error instanceof Error && error.message !== "" ? error.message : String(error);
  // The message of a system error contains its code.
  const isComplete = code === "" || (error instanceof Error && "syscall" in error);
  return isComplete ? printableText(text, 300) : `${printableText(text, 300)} (${code})`;
}

/** The names in a certificate that Node rejected for the host. */
function namesOf(error: unknown): string {
  const { subjectaltname } = (error as { cert?: { subjectaltname?: unknown } }).cert ?? {};
  return typeof subjectaltname === "string" ? `, only for ${printableText(subjectaltname, 300)}` : "";
}

/** A request that failed on its connection. */
export interface BrokenExchange {
  /** The peer's name: `the server "files"`. */
  readonly peer: string;
  readonly remoteName: string;
  readonly host: string;
  /** Whether it was written, so that it may have arrived. */
  readonly wasWritten: boolean;
  /** Whether the response headers were received. */
  readonly hasHeaders: boolean;
  /** Redacts secrets in messages. */
  readonly redact: Redact;
}

/** Converts the error of a failed request. */
export function exchangeFailure(error: unknown, broken: BrokenExchange): Error {
  const { peer, remoteName, host, wasWritten: wasSent, hasHeaders, redact } = broken;
  if (ToolServerError.is(error)) return error;
  const subject = `${capitalized(peer)} (${remoteName})`;
  // The parser's error contains bytes that the server sent.
  const cause = isParserError(error) ? undefined : error;
  const fail = (
    failure: "NOT_A_TOOL_SERVER" | "MESSAGE_TOO_LARGE" | "CONNECTION_LOST",
    problem: string,
    advice: string,
  ): ToolServerError =>
    new ToolServerError(
      failure,
      { problem: redact(`${subject} ${problem}`, "own"), advice },
      { cause, details: { wasSent } },
    );
  const code = codeOf(error);
  if (!hasHeaders && (isParserError(error) || isUnsolicitedResponse(error))) {
    const advice = "Check the host, the port and the scheme of the URL.";
    return fail("NOT_A_TOOL_SERVER", "responded with something that is not HTTP/1.1.", advice);
  }
  if (!hasHeaders && code === "UND_ERR_HEADERS_OVERFLOW") {
    return fail("MESSAGE_TOO_LARGE", "sent response headers that exceed the limit.", "Check the server.");
  }
  // With TLS 1.3 a server checks the client certificate after the handshake and before it reads anything.
  if (!hasHeaders && isClientCertificateAlert(code)) {
    const failed = { peer, remoteName, host, proxy: undefined, isProxyItself: false, error } as const;
    return connectFailure({ ...failed, stage: "securing" }, redact);
  }
  const reason = describeBreak(error, code);
  if (!wasSent) {
    const problem = `closed the connection before the request was written (${reason}).`;
    return fail("CONNECTION_LOST", problem, "Send it again.");
  }
  const problem = hasHeaders ? "cut off its response" : "closed the connection before it responded";
  return fail("CONNECTION_LOST", `${problem} (${reason}).`, "It is unknown whether the request was carried out.");
}

function describeBreak(error: unknown, code: string): string {
  if (isParserError(error) || code === "UND_ERR_HEADERS_OVERFLOW") return "it is not valid HTTP";
  if (code === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH") return "its length differs from Content-Length";
  if (code.startsWith("UND_ERR_")) return "it was closed";
  if (code !== "") return code;
  return printableText(messageOf(error), 200);
}

/** Whether undici's parser rejected the bytes as HTTP. */
export function isParserError(error: unknown): boolean {
  return error instanceof Error && error.name === "HTTPParserError";
}

/** undici's messages, whose version is pinned, because it has one code for all errors of a socket. */
const unsolicited: ReadonlySet<string> = new Set(["bad upgrade", "bad response"]);

/** Whether a server switched protocols or responded without a request. */
export function isUnsolicitedResponse(error: unknown): boolean {
  return codeOf(error) === "UND_ERR_SOCKET" && unsolicited.has((error as Error).message);
}

/** A peer's name at the start of a sentence. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
