import { lookup } from "node:dns/promises";
import { isIP, connect as netConnect, type Socket } from "node:net";
import { type PeerCertificate, TLSSocket, connect as tlsConnect } from "node:tls";
import { isoTime } from "../../duration.js";
import { messageOf, ToolServerError } from "../../errors.js";
import { nameOf, settleSocket } from "../../http/connect-socket.js";
import type { HttpClient } from "../../http/http-client.js";
import { codeOf } from "../../http/http-failure.js";
import { openTunnel, type ProxyServer, proxyFor } from "../../http/proxy.js";
import { hostOf, portOf } from "../../url.js";
import { type CertificateEvidence, isEvidence, type NetworkEvidence, type NetworkFailure } from "../evidence.js";
import { type Walk, within } from "./walk.js";

/** Checks the connection to the host of a url: proxy, name, TCP, TLS. It connects and sends nothing. */
export async function checkNetwork(walk: Walk, url: URL, http: HttpClient): Promise<NetworkEvidence> {
  const { variables, secrets, ca } = walk;
  const base = {
    host: hostOf(url.hostname),
    port: portOf(url),
    isSecure: url.protocol === "https:" || url.protocol === "wss:",
    // The lower-case name takes precedence, as for requests.
    noProxy: ["no_proxy", "NO_PROXY"].find((name) => variables[name]?.trim()),
    authorities: [
      ...(ca === undefined ? [] : ["--ca"]),
      ...(variables.NODE_EXTRA_CA_CERTS ? ["NODE_EXTRA_CA_CERTS"] : []),
    ],
    addresses: [],
  };
  let proxy: ProxyServer | undefined;
  try {
    proxy = proxyFor(url, { variables, includesLoopback: false, secrets });
  } catch (error) {
    const variable = ToolServerError.is(error) ? error.details.variable : undefined;
    return { ...base, failure: { stage: "proxy", code: "", variable, message: walk.redact(messageOf(error)) } };
  }
  const known = {
    ...base,
    proxy: proxy && { name: walk.sanitize(nameOf(proxy.host, proxy.port)), variable: proxy.variable },
    addresses: await addressesOf(walk, proxy?.host ?? base.host),
  };
  try {
    await walk.ensureTrusted();
    const { socket } = await within(walk, (signal) => http.openSocket(url, { signal }));
    const connected = { address: addressOf(socket), tls: walk.redact(describeTls(socket)) || undefined };
    socket.destroy();
    return { ...known, connected };
  } catch (error) {
    if (!isEvidence(error)) throw error;
    const failure = classify(error);
    const isCertificate = failure.stage === "tls" && !/^(ECONNRESET|EPROTO)?$/.test(failure.code);
    const certificate = isCertificate ? await readCertificate(walk, url, proxy) : undefined;
    return { ...known, failure: { ...failure, message: walk.redact(failure.message) }, certificate };
  }
}

/** The stage at which a connection failed. */
export function classify(error: ToolServerError): NetworkFailure {
  const code = codeOf(error.cause);
  const { message, details } = error;
  const { connecting } = details;
  if (!ToolServerError.is(error, "SERVER_UNREACHABLE") || connecting === undefined) {
    return { stage: ToolServerError.is(error, "CALL_TIMEOUT") ? "connection" : "settings", code, message };
  }
  const { proxyStatus, isProxyItself, stage } = connecting;
  if (isProxyItself) return { stage: "proxy", code, message, proxyStatus };
  if (stage === "securing") return { stage: "tls", code, message };
  return { stage: code === "ENOTFOUND" || code === "EAI_AGAIN" ? "name" : "connection", code, message };
}

/** The addresses of a host, for display: the connection resolves the name itself. */
async function addressesOf(walk: Walk, host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  try {
    const found = await within(walk, () => lookup(host, { all: true }));
    return found.map(({ address }) => address);
  } catch {
    return [];
  }
}

function addressOf({ remoteAddress, remotePort }: Socket): string {
  return nameOf(remoteAddress ?? "", remotePort ?? 0);
}

function describeTls(socket: Socket): string {
  if (!(socket instanceof TLSSocket)) return "";
  const { valid_to: validTo, issuer } = socket.getPeerCertificate();
  const until = validTo === undefined ? "" : `, its certificate valid until ${isoTime(validTo)}`;
  const by = issuer?.O ?? issuer?.CN;
  return `${socket.getProtocol() ?? "TLS"}${until}${by === undefined ? "" : `, signed by ${String(by)}`}`;
}

/**
 * The certificate that TLS rejected. The handshake has to continue to read it; the connection is closed right after it, and
 * nothing is sent. Undefined if it cannot be read.
 */
async function readCertificate(
  walk: Walk,
  url: URL,
  proxy: ProxyServer | undefined,
): Promise<CertificateEvidence | undefined> {
  // The certificate of a TLS proxy would have to be trusted first.
  if (proxy?.isSecure) return undefined;
  const [host, port] = [hostOf(url.hostname), portOf(url)];
  let below: Socket | undefined;
  let secured: TLSSocket | undefined;
  try {
    return await within(walk, async (signal) => {
      below = netConnect({ host: proxy?.host ?? host, port: proxy?.port ?? port });
      below = await settleSocket(below, "connect", signal);
      if (proxy !== undefined) below = await openTunnel(below, nameOf(host, port), proxy, signal);
      secured = tlsConnect({
        socket: below,
        host,
        servername: isIP(host) === 0 ? host : "",
        rejectUnauthorized: false,
        ALPNProtocols: ["http/1.1"],
      });
      await settleSocket(secured, "secureConnect", signal);
      return describeCertificate(walk, secured.getPeerCertificate());
    });
  } catch {
    return undefined;
  } finally {
    secured?.destroy();
    below?.destroy();
  }
}

function describeCertificate({ sanitize }: Walk, certificate: PeerCertificate): CertificateEvidence | undefined {
  const { subject, issuer, subjectaltname, valid_from: from, valid_to: to } = certificate;
  if (from === undefined || to === undefined) return undefined;
  const nameOfParty = (party: PeerCertificate["subject"] | undefined): string =>
    sanitize([party?.CN, party?.O].flat().filter(Boolean).join(", ") || "an unknown party", 200);
  return {
    subject: nameOfParty(subject),
    issuer: nameOfParty(issuer),
    names: sanitize(subjectaltname ?? "", 300),
    validFrom: isoTime(from),
    validTo: isoTime(to),
  };
}
