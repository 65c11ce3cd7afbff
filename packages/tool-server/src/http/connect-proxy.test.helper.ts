import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { onTestFinished } from "vitest";
import { serverTls } from "./hostile-http-server.test.helper.js";

/** A proxy that supports CONNECT. Ends with the test. */
export interface ConnectProxy {
  readonly port: number;
  /** Its url, with these credentials. */
  url(userinfo?: string): string;
  /** The requested targets. */
  readonly targets: readonly string[];
  /** The received Proxy-Authorization headers. */
  readonly authorizations: readonly (string | undefined)[];
  /** How many of its clients sent a certificate. */
  certificates(): number;
}

export interface ConnectProxyOptions {
  /** The required value of Proxy-Authorization. */
  readonly authorization?: string | undefined;
  /** Whether clients connect to it over TLS. */
  readonly isSecure?: boolean | undefined;
  /** The port of this machine that it connects every target to. Default: the target itself. */
  readonly everythingTo?: number | undefined;
  /** The response to send instead of connecting. */
  readonly response?: string | undefined;
}

export async function startConnectProxy(options: ConnectProxyOptions = {}): Promise<ConnectProxy> {
  const { authorization, isSecure = false, response, everythingTo } = options;
  const targets: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const sockets = new Set<Socket>();
  let certificates = 0;
  const tls = { ...serverTls(), requestCert: true, rejectUnauthorized: false };
  const server: Server = isSecure ? createSecureServer(tls) : createServer();
  server.on(isSecure ? "secureConnection" : "connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
    if (socket instanceof TLSSocket && socket.getPeerCertificate().subject !== undefined) certificates += 1;
  });
  server.on("connect", (request, socket, head) => {
    const target = request.url ?? "";
    targets.push(target);
    authorizations.push(request.headers["proxy-authorization"]);
    if (response !== undefined) return socket.end(response);
    if (authorization !== undefined && request.headers["proxy-authorization"] !== authorization) {
      return socket.end("HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n");
    }
    const { hostname, port } = new URL(`http://${target}`);
    // All names resolve to this machine here: the proxy resolves them, not its client.
    const joined =
      everythingTo === undefined
        ? connect({ host: hostname.endsWith(".test") ? "localhost" : hostname, port: Number(port || 80) })
        : connect({ host: "127.0.0.1", port: everythingTo });
    sockets.add(joined);
    joined.on("error", () => socket.destroy());
    joined.once("close", () => sockets.delete(joined));
    joined.once("connect", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      joined.write(head);
      socket.pipe(joined).pipe(socket);
    });
    return undefined;
  });
  server.listen(0, "localhost");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: (userinfo) =>
      `${isSecure ? "https" : "http"}://${userinfo === undefined ? "" : `${userinfo}@`}localhost:${port}`,
    targets,
    authorizations,
    certificates: () => certificates,
  };
}
