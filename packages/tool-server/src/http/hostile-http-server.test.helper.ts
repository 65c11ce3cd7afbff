import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer, type ServerOptions } from "node:https";
import { type AddressInfo, createServer as createRawServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { onTestFinished } from "vitest";

/** A request as it arrived. */
export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly socket: Socket;
  /** The number of the connection that it came on, from 1. */
  readonly connection: number;
}

/** A server that responds as a test specifies. Ends with the test. */
export interface HostileServer {
  readonly url: URL;
  readonly port: number;
  readonly requests: readonly SeenRequest[];
  /** The connections that are open now. */
  readonly sockets: ReadonlySet<Socket>;
  /** How many connections there were. */
  readonly connections: number;
  /** Ends it at once, with all its connections. */
  kill(): void;
}

/** Handles a request; `index` counts them from 0. */
export type HostileHandler = (request: SeenRequest, response: ServerResponse, index: number) => unknown;

export interface HostileOptions {
  /** Speaks TLS with this. */
  readonly tls?: ServerOptions | undefined;
  /** How long it keeps an idle connection, in milliseconds; the responses say so. Default: longer than any test. */
  readonly keepAliveMs?: number | undefined;
}

/** A certificate or key of `test/certificates`. */
export function certificate(name: string): string {
  return readFileSync(new URL(`../../../../test/certificates/${name}.pem`, import.meta.url), "utf8");
}

/** TLS options of a server: for localhost, 127.0.0.1 and ::1, signed by `certificate("ca")`. */
export const serverTls = (): ServerOptions => ({ cert: certificate("server"), key: certificate("server-key") });

export async function startHostileServer(
  handler: HostileHandler,
  options: HostileOptions = {},
): Promise<HostileServer> {
  const requests: SeenRequest[] = [];
  const numbers = new Map<Socket, number>();
  const onRequest: Parameters<typeof createServer>[1] = (request, response) => {
    const chunks: Buffer[] = [];
    request.on("error", () => {});
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const seen: SeenRequest = {
        method: request.method ?? "",
        url: request.url ?? "",
        headers: request.headers,
        body: Buffer.concat(chunks).toString("utf8"),
        socket: request.socket,
        connection: numbers.get(request.socket) ?? 0,
      };
      requests.push(seen);
      void handler(seen, response, requests.length - 1);
    });
  };
  const server: Server =
    options.tls === undefined ? createServer(onRequest) : createSecureServer(options.tls, onRequest);
  server.keepAliveTimeout = options.keepAliveMs ?? 600_000;
  const { sockets, count, kill, port } = await serve(
    server,
    options.tls === undefined ? "connection" : "secureConnection",
    (socket, number) => numbers.set(socket, number),
  );
  return {
    url: new URL(`${options.tls === undefined ? "http" : "https"}://localhost:${port}/mcp`),
    port,
    requests,
    sockets,
    get connections() {
      return count();
    },
    kill,
  };
}

/** A raw TCP or TLS server; `number` counts its connections from 1. */
export async function startRawServer(
  onSocket: (socket: Socket, number: number) => unknown,
  { tls }: Pick<HostileOptions, "tls"> = {},
): Promise<HostileServer> {
  const server = tls === undefined ? createRawServer() : createTlsServer(tls);
  const event = tls === undefined ? "connection" : "secureConnection";
  const { sockets, count, kill, port } = await serve(server, event, onSocket);
  return {
    url: new URL(`${tls === undefined ? "http" : "https"}://localhost:${port}/mcp`),
    port,
    requests: [],
    sockets,
    get connections() {
      return count();
    },
    kill,
  };
}

async function serve(
  server: ReturnType<typeof createRawServer>,
  event: "connection" | "secureConnection",
  onSocket: (socket: Socket, number: number) => unknown,
): Promise<{ sockets: Set<Socket>; count: () => number; kill: () => void; port: number }> {
  const sockets = new Set<Socket>();
  let count = 0;
  server.on(event, (socket: Socket) => {
    count += 1;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
    void onSocket(socket, count);
  });
  server.listen(0, "localhost");
  await once(server, "listening");
  const kill = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(kill);
  return { sockets, count: () => count, kill, port: (server.address() as AddressInfo).port };
}
