import { lookup as systemLookup } from "node:dns";
import { connect, isIP, type LookupFunction, type Socket } from "node:net";
import * as tls from "node:tls";
import type { CallPhases } from "../call-phases.js";
import type { Clock } from "../clock.js";
import type { ConnectingDetails } from "../errors.js";
import { hostOf, portOf } from "../url.js";
import type { SocketOptions } from "./http-client.js";
import { ConnectObstacle, connectFailure } from "./http-failure.js";
import { openTunnel, type ProxyServer } from "./proxy.js";
import type { TlsContexts } from "./tls-settings.js";

/** How connections are made. */
export interface ConnectSettings {
  /** Throws if the proxy cannot be used. */
  readonly proxyFor: (url: URL) => ProxyServer | undefined;
  readonly tlsContexts: () => TlsContexts;
  /** The time limit for all steps together, in milliseconds. */
  readonly connectMs: number;
  readonly clock: Clock;
  /** Default: the system resolver. */
  readonly lookup: LookupFunction | undefined;
  /** Redacts secrets in messages. */
  readonly redact: (text: string) => string;
  /** Aborted when the client closes. */
  readonly closing: AbortSignal;
}

/** The idle time before TCP sends keep-alive probes, in milliseconds. */
const keepAliveMs = 15_000;

/** The peer's name for messages, and restrictions of the connection. */
interface ConnectRequest extends SocketOptions {
  readonly peer: string;
}

/** Connects to the host of a URL, with TLS if the scheme requires it. Rejects with SERVER_UNREACHABLE, or a signal's reason. */
export async function connectSocket(url: URL, request: ConnectRequest, settings: ConnectSettings): Promise<Socket> {
  const { peer, signal, isAddressAllowed, phases } = request;
  const { closing, clock, connectMs } = settings;
  const proxy = settings.proxyFor(url);
  const [host, port] = [hostOf(url.hostname), portOf(url)];
  const remoteName = nameOf(host, port);
  const attempt = new AbortController();
  const onAbort = (): void => attempt.abort(signal?.reason);
  const onClose = (): void => attempt.abort(closing.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  closing.addEventListener("abort", onClose, { once: true });
  const stopTimer = clock.after(connectMs, () => {
    const advice = "Check the network and its firewalls, and whether a proxy is needed.";
    attempt.abort(new ConnectObstacle(`it took longer than ${connectMs / 1000} s`, advice));
  });
  let stage: ConnectingDetails["stage"] = "reaching";
  let isProxyItself = proxy !== undefined;
  let socket: Socket | undefined;
  try {
    signal?.throwIfAborted();
    closing.throwIfAborted();
    if (isIP(host) !== 0 && isAddressAllowed?.(host, host) === false) throw refusedAddress([host], host);
    const lookup = guarded(settings.lookup ?? systemLookup, proxy === undefined ? isAddressAllowed : undefined);
    socket = await reach(proxy?.host ?? host, proxy?.port ?? port, lookup, attempt.signal, phases);
    if (proxy !== undefined) {
      phases?.begin("proxy");
      if (proxy.isSecure) {
        stage = "securing";
        socket = await secure(socket, proxy.host, settings.tlsContexts().proxy, attempt.signal);
      }
      stage = "asking-proxy";
      socket = await openTunnel(socket, remoteName, proxy, attempt.signal);
      phases?.end("proxy");
      isProxyItself = false;
    }
    if (url.protocol === "https:" || url.protocol === "wss:") {
      stage = "securing";
      phases?.begin("tls");
      socket = await secure(socket, host, settings.tlsContexts().server, attempt.signal);
      phases?.end("tls");
    }
    attempt.signal.throwIfAborted();
    return socket;
  } catch (error) {
    socket?.destroy();
    signal?.throwIfAborted();
    closing.throwIfAborted();
    const failed = {
      peer,
      remoteName,
      host: isProxyItself && proxy !== undefined ? proxy.host : host,
      stage,
      proxy: proxy === undefined ? undefined : { name: nameOf(proxy.host, proxy.port), variable: proxy.variable },
      isProxyItself,
      error,
    };
    throw connectFailure(failed, settings.redact);
  } finally {
    stopTimer();
    closing.removeEventListener("abort", onClose);
    signal?.removeEventListener("abort", onAbort);
  }
}

/** A host and port for messages. */
export function nameOf(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

async function reach(
  host: string,
  port: number,
  lookup: LookupFunction,
  signal: AbortSignal,
  phases: CallPhases | undefined,
): Promise<Socket> {
  signal.throwIfAborted();
  phases?.begin(isIP(host) === 0 ? "lookup" : "tcp");
  const socket = connect({ host, port, lookup, noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveMs });
  if (phases !== undefined) {
    socket.once("lookup", () => {
      phases.end("lookup");
      phases.begin("tcp");
    });
  }
  const connected = await settleSocket(socket, "connect", signal);
  phases?.end("tcp");
  return connected;
}

async function secure(
  socket: Socket,
  host: string,
  secureContext: tls.SecureContext,
  signal: AbortSignal,
): Promise<Socket> {
  const secured = tls.connect({
    socket,
    secureContext,
    host,
    // An address cannot be a server name; the certificate is still checked for it.
    servername: isIP(host) === 0 ? host : "",
    ALPNProtocols: ["http/1.1"],
  });
  try {
    return await settleSocket(secured, "secureConnect", signal);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Resolves names and omits addresses that are not allowed. */
function guarded(lookup: LookupFunction, isAllowed: SocketOptions["isAddressAllowed"]): LookupFunction {
  if (isAllowed === undefined) return lookup;
  return (host, options, callback) =>
    lookup(host, options, (error, found, family) => {
      if (error !== null) return callback(error, found, family);
      const addresses = typeof found === "string" ? [{ address: found, family: family ?? isIP(found) }] : found;
      const allowed = addresses.filter(({ address }) => isAllowed(address, host));
      const [first] = allowed;
      if (first === undefined) {
        const found = addresses.map(({ address }) => address);
        callback(refusedAddress(found, host), "", 0);
      } else if (typeof found === "string") {
        callback(null, first.address, first.family);
      } else {
        callback(null, allowed);
      }
    });
}

function refusedAddress(addresses: readonly string[], host: string): ConnectObstacle {
  const what = addresses.includes(host) ? `the address ${host}` : `${host} resolves to ${addresses.join(", ")}, which`;
  return new ConnectObstacle(`${what} is not allowed here`, "It is in a network that this request must not reach.");
}

/**
 * Waits for an event of a socket. Rejects with the socket's error, with the signal's reason, or with an error if it closes
 * first; then the socket is destroyed.
 */
export function settleSocket<S extends Socket>(
  socket: S,
  event: "connect" | "secureConnect",
  signal: AbortSignal,
): Promise<S> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      socket.off(event, onReady).off("error", onError).off("close", onClose);
      signal.removeEventListener("abort", onAbort);
    };
    const fail = (error: unknown): void => {
      settle();
      // Later errors have no other listener.
      socket.on("error", () => {});
      socket.destroy();
      reject(error);
    };
    const onReady = (): void => {
      settle();
      resolve(socket);
    };
    const onError = (error: Error): void => fail(error);
    const onClose = (): void => fail(Object.assign(new Error("The connection was closed"), { code: "ECONNRESET" }));
    const onAbort = (): void => fail(signal.reason);
    socket.once(event, onReady).once("error", onError).once("close", onClose);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}
