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
  answer: (error: unknown, message: object) => void,
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

/** Asks grpc-js's handler and encodes its answer, as its server does. */
export function encodedAnswer(method: string): (request: Record<string, unknown>) => Buffer {
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

/** A socket of grpc-js's: what its transport keeps for Channelz. */
export class GrpcJsSocket {
  readonly streamTracker: CallTracker = new grpcJs.ChannelzCallTracker();
  messagesSent = 0;
  messagesReceived = 0;
  lastMessageSentTimestamp: Date | null = null;
  lastMessageReceivedTimestamp: Date | null = null;
  readonly ref: Ref = grpcJs.registerChannelzSocket("127.0.0.1:443", () => this.info(), true);

  info(): object {
    const { streamTracker } = this;
    return {
      remoteAddress: { host: "127.0.0.1", port: 443 },
      localAddress: { host: "127.0.0.1", port: 50000 },
      security: null,
      remoteName: null,
      streamsStarted: streamTracker.callsStarted,
      messagesSent: this.messagesSent,
      messagesReceived: this.messagesReceived,
      keepAlivesSent: 0,
      lastLocalStreamCreatedTimestamp: null,
      lastMessageSentTimestamp: this.lastMessageSentTimestamp,
      lastMessageReceivedTimestamp: this.lastMessageReceivedTimestamp,
    };
  }

  messageSent(): void {
    this.messagesSent += 1;
    this.lastMessageSentTimestamp = new Date();
  }

  messageReceived(): void {
    this.messagesReceived += 1;
    this.lastMessageReceivedTimestamp = new Date();
  }
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
}
