import { lookup } from "node:dns/promises";
import { isIP, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { isoTime } from "../../duration.js";
import { ToolServerError } from "../../errors.js";
import { codeOf } from "../../http/connect-failure.js";
import { nameOf } from "../../http/connect-socket.js";
import type { HttpClient } from "../../http/http-client.js";
import { hostOf, portOf } from "../../http/loopback.js";
import { type ProxyServer, proxyFor } from "../../http/proxy-settings.js";
import type { NetworkFacts, NetworkFailure } from "../facts.js";
import { isFinding } from "../failure-facts.js";
import { lookAtCertificate } from "./look-at-certificate.js";
import { within } from "./time-limit.js";
import type { Walk } from "./walk.js";

/** Looks at the way to the host of a url: proxy, name, connection, TLS. A connection is made, and nothing is sent over it. */
export async function lookAtNetwork(walk: Walk, url: URL, http: HttpClient): Promise<NetworkFacts> {
  const { variables, secrets, ca } = walk;
  const base = {
    host: hostOf(url.hostname),
    port: portOf(url),
    isSecure: url.protocol === "https:" || url.protocol === "wss:",
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
  const facts = {
    ...base,
    proxy: proxy && { name: walk.say(nameOf(proxy.host, proxy.port)), variable: proxy.variable },
    addresses: await addressesOf(walk, proxy?.host ?? base.host),
  };
  try {
    await walk.ensureTrusted();
    const socket = await within(walk, (signal) => http.openSocket(url, { signal }));
    const connected = { address: addressOf(socket), tls: walk.redact(describeTls(socket)) || undefined };
    socket.destroy();
    return { ...facts, connected };
  } catch (error) {
    if (!isFinding(error)) throw error;
    const failure = classify(error);
    const isCertificate = failure.stage === "tls" && !/^(ECONNRESET|EPROTO)?$/.test(failure.code);
    const certificate = isCertificate ? await lookAtCertificate(walk, url, proxy) : undefined;
    return { ...facts, failure: { ...failure, message: walk.redact(failure.message) }, certificate };
  }
}

/** How far a connection came that failed. */
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

/** The addresses of a host, for people: the connection looks them up by itself. */
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
