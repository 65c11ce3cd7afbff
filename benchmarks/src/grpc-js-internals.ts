import { createRequire } from "node:module";

// grpc-js keeps its registry to itself; a benchmark against it has to reach inside. What is declared here is what is used.

interface Ref {
  readonly id: number;
  readonly name: string;
}

export interface CallTracker {
  addCallStarted(): void;
  addCallSucceeded(): void;
  callsStarted: number;
}

interface Trace {
  addTrace(severity: string, description: string): void;
}

interface ChildrenTracker {
  refChild(child: Ref): void;
  unrefChild(child: Ref): void;
  getChildLists(): unknown;
}

type Handler = (
  call: { readonly request: Record<string, unknown> },
  respond: (error: unknown, message: object) => void,
) => void;

interface MethodDefinition {
  responseSerialize(message: object): Buffer;
}

interface ChannelzInternals {
  registerChannelzChannel(name: string, getInfo: () => object, enabled: boolean): Ref;
  registerChannelzServer(name: string, getInfo: () => object, enabled: boolean): Ref;
  registerChannelzSocket(name: string, getInfo: () => object, enabled: boolean): Ref;
  unregisterChannelzRef(ref: Ref): void;
  getChannelzHandlers(): Record<string, Handler>;
  getChannelzServiceDefinition(): Record<string, MethodDefinition>;
  readonly ChannelzCallTracker: new () => CallTracker;
  readonly ChannelzTrace: new () => Trace;
  readonly ChannelzChildrenTracker: new () => ChildrenTracker;
}

export const grpcJs: ChannelzInternals = createRequire(import.meta.url)("@grpc/grpc-js/build/src/channelz.js");

/** Calls grpc-js's handler and encodes its response, as its server does. */
export function encodedResponse(method: string): (request: Record<string, unknown>) => Buffer {
  const handler = grpcJs.getChannelzHandlers()[method]!;
  const definition = grpcJs.getChannelzServiceDefinition()[method]!;
  return (request) => {
    let bytes: Buffer | undefined;
    handler({ request }, (error, message) => {
      if (error) throw error;
      bytes = definition.responseSerialize(message);
    });
    return bytes!;
  };
}

/** A socket of grpc-js's: what its transport, of a client, keeps for Channelz. */
export class GrpcJsSocket {
  readonly streamTracker: CallTracker = new grpcJs.ChannelzCallTracker();
  keepalivesSent = 0;
  messagesSent = 0;
  messagesReceived = 0;
  lastMessageSentTimestamp: number | null = null;
  lastMessageReceivedTimestamp: number | null = null;
  readonly ref: Ref = grpcJs.registerChannelzSocket("127.0.0.1:443", () => this.info(), true);

  info(): object {
    return socketInfo(this);
  }

  messageSent(): void {
    this.messagesSent += 1;
    this.lastMessageSentTimestamp = Date.now();
  }

  messageReceived(): void {
    this.messagesReceived += 1;
    this.lastMessageReceivedTimestamp = Date.now();
  }
}

/** A connection of grpc-js's server: what it keeps of it for Channelz. */
export interface GrpcJsSession {
  readonly ref: Ref;
  readonly streamTracker: CallTracker;
  messagesSent: number;
  messagesReceived: number;
  keepAlivesSent: number;
  lastMessageSentTimestamp: number | null;
  lastMessageReceivedTimestamp: number | null;
}

function socketInfo(counted: Omit<GrpcJsSession, "ref" | "keepAlivesSent">): object {
  return {
    remoteAddress: { host: "127.0.0.1", port: 443 },
    localAddress: { host: "127.0.0.1", port: 50000 },
    security: null,
    remoteName: null,
    streamsStarted: counted.streamTracker.callsStarted,
    messagesSent: counted.messagesSent,
    messagesReceived: counted.messagesReceived,
    keepAlivesSent: 0,
    lastLocalStreamCreatedTimestamp: null,
    lastMessageSentTimestamp: counted.lastMessageSentTimestamp,
    lastMessageReceivedTimestamp: counted.lastMessageReceivedTimestamp,
  };
}

/** A channel of grpc-js's, with two events in its trace, as its own channels begin. */
export class GrpcJsChannel {
  readonly callTracker: CallTracker = new grpcJs.ChannelzCallTracker();
  readonly trace: Trace = new grpcJs.ChannelzTrace();
  readonly children: ChildrenTracker = new grpcJs.ChannelzChildrenTracker();
  readonly ref: Ref;

  constructor(target: string) {
    this.ref = grpcJs.registerChannelzChannel(
      target,
      () => ({
        target,
        state: 0,
        trace: this.trace,
        callTracker: this.callTracker,
        children: this.children.getChildLists(),
      }),
      true,
    );
    this.trace.addTrace("CT_INFO", "Channel created");
    this.trace.addTrace("CT_INFO", "IDLE -> CONNECTING");
  }
}

/** A server of grpc-js's. */
export class GrpcJsServer {
  readonly callTracker: CallTracker = new grpcJs.ChannelzCallTracker();
  readonly trace: Trace = new grpcJs.ChannelzTrace();
  readonly listeners: ChildrenTracker = new grpcJs.ChannelzChildrenTracker();
  readonly sessions: ChildrenTracker = new grpcJs.ChannelzChildrenTracker();
  readonly ref: Ref = grpcJs.registerChannelzServer(
    "server",
    () => ({
      trace: this.trace,
      callTracker: this.callTracker,
      listenerChildren: this.listeners.getChildLists(),
      sessionChildren: this.sessions.getChildLists(),
    }),
    true,
  );
  /** Filled by grpc-js only where Channelz is on, to find what counts for a connection. */
  readonly #sessionInfos = new Map<object, GrpcJsSession>();

  /** What `_channelzSessionHandler` of grpc-js's server does for a new connection, but for the event in the server's trace. */
  opened(connection: object): GrpcJsSession {
    const ref = grpcJs.registerChannelzSocket("127.0.0.1", this.#info.bind(this, connection), true);
    const session: GrpcJsSession = {
      ref,
      streamTracker: new grpcJs.ChannelzCallTracker(),
      messagesSent: 0,
      messagesReceived: 0,
      keepAlivesSent: 0,
      lastMessageSentTimestamp: null,
      lastMessageReceivedTimestamp: null,
    };
    this.#sessionInfos.set(connection, session);
    this.sessions.refChild(ref);
    return session;
  }

  /** What it does when the connection closes, but for the event. It has the ref in the closure of its listener. */
  closed(connection: object, { ref }: GrpcJsSession): void {
    this.sessions.unrefChild(ref);
    grpcJs.unregisterChannelzRef(ref);
    this.#sessionInfos.delete(connection);
  }

  #info(connection: object): object {
    return socketInfo(this.#sessionInfos.get(connection)!);
  }
}
