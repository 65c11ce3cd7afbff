import { once } from "node:events";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from "node:http2";
import { type Client, createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import type { ChannelHandle, ConnectivityState, Registry, SocketHandle, SubchannelHandle } from "@wirescope/channelz";
import { Greeter } from "../gen/wirescope/demo/v1/demo_pb.js";
import { describeSession, endpointsOf, grpcOutcomeOf } from "./session-details.js";

/** A client of a greeter, with the one connection it keeps. */
export interface GreeterChannel {
  readonly greeter: Client<typeof Greeter>;
  /** Ends the connection and all calls on it. */
  close(): Promise<void>;
}

/** Opens a channel to a greeter at `host:port`, and shows all that happens to it in a registry. Connects when first called. */
export function openGreeterChannel(registry: Registry, name: string, address: string): GreeterChannel {
  const target = `dns:///${address}`;
  const channel = registry.addChannel({ name, target });
  const connection = new ShownConnection(registry, channel, address);
  const transport = createGrpcTransport({
    baseUrl: connection.authority,
    sessionManager: connection,
    interceptors: [countCalls(channel)],
  });
  return {
    greeter: createClient(Greeter, transport),
    async close() {
      await connection.close();
      channel.close("The client was closed");
    },
  };
}

function countCalls(channel: ChannelHandle): Interceptor {
  return (next) => async (request) => {
    channel.callStarted();
    try {
      const response = await next(request);
      channel.callSucceeded();
      return response;
    } catch (error) {
      channel.callFailed();
      throw error;
    }
  };
}

/** One HTTP/2 connection that comes back when it is needed, as connect-node asks for it; a subchannel in the registry. */
class ShownConnection {
  readonly authority: string;
  readonly #registry: Registry;
  readonly #channel: ChannelHandle;
  readonly #subchannel: SubchannelHandle;
  #session: ClientHttp2Session | undefined;
  #socket: SocketHandle | undefined;

  constructor(registry: Registry, channel: ChannelHandle, address: string) {
    this.authority = `http://${address}`;
    this.#registry = registry;
    this.#channel = channel;
    this.#subchannel = registry.addSubchannel({ parent: channel, target: address });
  }

  async request(method: string, path: string, headers: object, options: object): Promise<ClientHttp2Stream> {
    const session = await this.#ready();
    const stream = session.request({ ...headers, ":method": method, ":path": path }, options);
    if (this.#socket !== undefined) showStream(this.#subchannel, this.#socket, stream);
    return stream;
  }

  notifyResponseByteRead(): void {}

  async close(): Promise<void> {
    const session = this.#session;
    if (session !== undefined && !session.destroyed) {
      const closed = once(session, "close");
      session.destroy();
      await closed;
    }
    this.#subchannel.close("The client was closed");
  }

  async #ready(): Promise<ClientHttp2Session> {
    this.#session ??= this.#connect();
    const session = this.#session;
    if (session.connecting) await once(session, "connect");
    return session;
  }

  #connect(): ClientHttp2Session {
    let cause = "";
    this.#setState("CONNECTING");
    const session = connect(this.authority);
    session.once("connect", () => {
      this.#socket = this.#registry.addSocket({
        parent: this.#subchannel,
        ...endpointsOf(session.socket),
        subject: session,
        describe: describeSession,
      });
      this.#setState("READY");
    });
    session.on("error", (error) => {
      cause = error.message;
    });
    session.once("close", () => {
      const socket = this.#socket;
      this.#session = undefined;
      this.#socket = undefined;
      socket?.close(cause);
      if (socket === undefined) this.#setState("TRANSIENT_FAILURE", cause);
      else this.#setState("IDLE", cause || "The connection was closed");
    });
    return session;
  }

  #setState(state: ConnectivityState, cause?: string): void {
    this.#subchannel.setState(state, cause);
    this.#channel.setState(state, cause);
  }
}

function showStream(subchannel: SubchannelHandle, socket: SocketHandle, stream: ClientHttp2Stream): void {
  let isEndReceived = false;
  let outcome: "ok" | "failed" | undefined;
  const onHeaders = (headers: IncomingHttpHeaders, flags: number): void => {
    isEndReceived ||= (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    outcome ??= grpcOutcomeOf(headers);
  };
  subchannel.callStarted();
  socket.localStreamStarted();
  stream.once("response", onHeaders);
  stream.once("trailers", onHeaders);
  // Every call is unary: a request that is out has taken its one message, an answer that is OK has brought one.
  stream.once("finish", () => socket.messageSent());
  stream.once("close", () => {
    if (isEndReceived) socket.streamSucceeded();
    else socket.streamFailed();
    if (isEndReceived && outcome === "ok") {
      socket.messageReceived();
      subchannel.callSucceeded();
    } else {
      subchannel.callFailed();
    }
  });
}
