import { once } from "node:events";
import { constants, createServer, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import type { Registry, ServerHandle, SocketHandle } from "@wirescope/channelz";
import { Greeter } from "../gen/wirescope/demo/v1/demo_pb.js";
import { describeSession, endpointsOf, grpcOutcomeOf } from "./session-details.js";

/** The greeter, listening. */
export interface GreeterServer {
  /** `host:port`. */
  readonly address: string;
  /** Lets calls under way finish, and ends what is left at the deadline. */
  close(deadlineMs: number): Promise<void>;
}

/** Starts a greeter on a free port of the loopback, and shows all that happens to it in a registry. */
export async function startGreeterServer(registry: Registry): Promise<GreeterServer> {
  const server = createServer(connectNodeAdapter({ routes: (router) => router.service(Greeter, { greet }) }));
  const shown = registry.addServer({ name: "greeter" });
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    showSession(registry, shown, session);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { address: ip, port } = server.address() as AddressInfo;
  const listening = registry.addListenSocket({ server: shown, local: { ip, port } });
  shown.trace(`Listening on ${ip}:${port}`);

  return {
    address: `${ip}:${port}`,
    async close(deadlineMs) {
      const closed = once(server, "close");
      server.close();
      for (const session of sessions) session.close();
      const deadline = setTimeout(() => {
        for (const session of sessions) session.destroy();
      }, deadlineMs);
      await closed;
      clearTimeout(deadline);
      listening.close("The server was closed");
      shown.close("The server was closed");
    },
  };
}

function greet({ name }: { name: string }): { greeting: string } {
  if (name === "") throw new ConnectError("Whom shall I greet? The name is empty.", Code.InvalidArgument);
  return { greeting: `Hello, ${name}!` };
}

function showSession(registry: Registry, server: ServerHandle, session: ServerHttp2Session): void {
  const socket = registry.addSocket({
    server,
    ...endpointsOf(session.socket),
    subject: session,
    describe: describeSession,
  });
  session.on("stream", (stream) => showStream(server, socket, stream));
  session.once("close", () => socket.close("The connection was closed"));
}

function showStream(server: ServerHandle, socket: SocketHandle, stream: ServerHttp2Stream): void {
  server.callStarted();
  socket.remoteStreamStarted();
  // Every call is unary: a request that ends has brought its one message, an answer that is OK has taken one back.
  stream.once("end", () => socket.messageReceived());
  stream.once("close", () => {
    const isEndSent = stream.writableFinished && stream.rstCode === constants.NGHTTP2_NO_ERROR;
    if (isEndSent) socket.streamSucceeded();
    else socket.streamFailed();
    if (isEndSent && (grpcOutcomeOf(stream.sentTrailers) ?? grpcOutcomeOf(stream.sentHeaders)) === "ok") {
      socket.messageSent();
      server.callSucceeded();
    } else {
      server.callFailed();
    }
  });
}
