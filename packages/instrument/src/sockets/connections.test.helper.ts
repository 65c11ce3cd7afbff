import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import {
  connect,
  createServer,
  type ListenOptions,
  type NetConnectOpts,
  type Server,
  type Socket,
  type TcpNetConnectOpts,
} from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  connect as connectTls,
  createServer as createTlsServer,
  type TLSSocket,
  type ConnectionOptions as TlsConnectOptions,
  type TlsOptions,
} from "node:tls";
import { onTestFinished } from "vitest";

/** Both ends of a connection, which are closed when the test ends. */
export interface Connection<S extends Socket = Socket> {
  readonly server: Server;
  readonly client: S;
  readonly accepted: S;
}

/** A TLS connection, and the session that its client may resume. */
export interface TlsConnection extends Connection<TLSSocket> {
  readonly session: Promise<Buffer>;
}

const certificates = new URL("../../../../test/certificates/", import.meta.url);

/** Reads a file of the test certificates. */
export function certificate(name: string): Buffer {
  return readFileSync(new URL(name, certificates));
}

/** A server certificate signed by `ca.pem`, and its key. */
export const serverIdentity: TlsOptions = { cert: certificate("server.pem"), key: certificate("server-key.pem") };

/** A client certificate signed by the same CA, and its key. */
export const clientIdentity: TlsConnectOptions = {
  cert: certificate("client.pem"),
  key: certificate("client-key.pem"),
};

/** The DER content of a PEM file with one certificate. */
export function der(name: string): Buffer {
  return Buffer.from(
    certificate(name)
      .toString()
      .replace(/-----.*-----/g, ""),
    "base64",
  );
}

/** A path for a Unix socket, in a new folder. */
export function unixPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "s.sock");
}

/** Listens until the test ends. */
export async function listen<S extends Server>(server: S, options: ListenOptions & { fd?: number }): Promise<S> {
  onTestFinished(() => void server.close());
  server.listen(options);
  await once(server, "listening");
  return server;
}

/** Listens until the test ends, and then destroys all connections. */
export async function listening<S extends Server>(server: S, options: ListenOptions = {}): Promise<S> {
  const accepted = new Set<Socket>();
  server.on("connection", (socket: Socket) => accepted.add(socket));
  onTestFinished(async () => {
    for (const socket of accepted) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  server.listen(options.path === undefined ? { host: "127.0.0.1", port: 0, ...options } : options);
  await once(server, "listening");
  return server;
}

/** The port on which a server listens. */
export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("The server listens on no port.");
  return address.port;
}

/** Connects to a new server. Without options: TCP over IPv4. */
export async function connection(
  listening: ListenOptions = { host: "127.0.0.1", port: 0 },
  connecting: Partial<TcpNetConnectOpts> = {},
): Promise<Connection> {
  const server = await listen(createServer(), listening);
  return connectTo(server, { ...addressOf(server, listening), ...connecting } as NetConnectOpts);
}

/** Opens another connection to an existing server. */
export async function connectTo(server: Server, connecting: NetConnectOpts): Promise<Connection> {
  const accepting = once(server, "connection");
  const client = connect(connecting);
  closeAfterTest(client);
  await once(client, "connect");
  const [accepted] = (await accepting) as [Socket];
  closeAfterTest(accepted);
  return { server, client, accepted };
}

/** Connects with TLS to a new server, and waits until both sides have completed the handshake. */
export async function tlsConnection(
  serving: TlsOptions = {},
  connecting: TlsConnectOptions = {},
  listening: ListenOptions = { host: "127.0.0.1", port: 0 },
): Promise<TlsConnection> {
  const server = await listen(createTlsServer({ ...serverIdentity, ...serving }), listening);
  const accepting = once(server, "secureConnection");
  const client = connectTls({
    ...addressOf(server, listening),
    ca: certificate("ca.pem"),
    servername: "localhost",
    ...connecting,
  });
  closeAfterTest(client);
  // Emitted before the end of the handshake in TLS 1.2, and after it in TLS 1.3.
  const session = new Promise<Buffer>((resolve) => client.once("session", resolve));
  await once(client, "secureConnect");
  const [accepted] = (await accepting) as [TLSSocket];
  closeAfterTest(accepted);
  return { server, client, accepted, session };
}

/** Destroys a socket when the test ends, and ignores its errors until then. */
export function closeAfterTest(socket: Socket): void {
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
}

function addressOf(server: Server, { host, path }: ListenOptions): { path: string } | { host: string; port: number } {
  return path === undefined ? { host: host ?? "localhost", port: portOf(server) } : { path };
}
