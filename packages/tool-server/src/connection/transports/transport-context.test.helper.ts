import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { onTestFinished } from "vitest";
import { createNoCredential } from "../../auth/credentials/fixed-credential.js";
import { systemClock } from "../../clock.js";
import type { SocketInfo, TransportInfo, TransportKind } from "../../connection-info.js";
import {
  channelPrefix,
  channels,
  createReporter,
  type Ending,
  type ToolServerChannelName,
  type TraceEvent,
} from "../../diagnostics.js";
import { createSecretRegistry, type SecretRegistry } from "../../secrets/redactor.js";
import { defaultLimits, type TransportContext } from "./transport.js";

/** A context for the test of a transport, and what was published of it. */
export interface TestContext extends TransportContext {
  readonly secrets: SecretRegistry;
}

export function createTestContext(kind: TransportKind, changes: Partial<TransportContext> = {}): TestContext {
  const secrets = createSecretRegistry();
  const credential = changes.credential ?? createNoCredential({ server: "notes" });
  const info: TransportInfo = {
    target: "test",
    connection: { kind, name: "notes", target: "test", tenant: {}, credential: () => credential.describe() },
  };
  return {
    server: "notes",
    info,
    report: createReporter(secrets),
    clock: systemClock,
    limits: defaultLimits,
    ...changes,
    credential,
    secrets,
  };
}

/** How often each thing happened on a socket. */
export type SocketCounts = Record<
  | "opened"
  | "closed"
  | "stream-started"
  | "stream-succeeded"
  | "stream-failed"
  | "message-sent"
  | "message-received"
  | "keep-alive-sent",
  number
>;

/** What was published of one transport, from the call to the end of the test. */
export interface Published {
  /** By socket, in the order of their opening. */
  readonly sockets: ReadonlyMap<SocketInfo, SocketCounts>;
  /** Over all sockets. */
  totals(): SocketCounts;
  /** Why sockets closed. */
  readonly reasons: readonly string[];
  readonly stories: readonly TraceEvent[];
  /** Everything in words. */
  words(): string;
}

const nothing: SocketCounts = {
  opened: 0,
  closed: 0,
  "stream-started": 0,
  "stream-succeeded": 0,
  "stream-failed": 0,
  "message-sent": 0,
  "message-received": 0,
  "keep-alive-sent": 0,
};

/** Listens to what is published of a transport. */
export function listenTo(info: TransportInfo): Published {
  const sockets = new Map<SocketInfo, SocketCounts>();
  const reasons: string[] = [];
  const stories: TraceEvent[] = [];
  const listen = (name: ToolServerChannelName, onMessage: (message: unknown) => void): void => {
    subscribe(`${channelPrefix}${name}`, onMessage);
    onTestFinished(() => void unsubscribe(`${channelPrefix}${name}`, onMessage));
  };
  const count = (socketInfo: SocketInfo, what: keyof SocketCounts): void => {
    if (socketInfo.transport !== info) return;
    const counts = sockets.get(socketInfo) ?? { ...nothing };
    counts[what] += 1;
    sockets.set(socketInfo, counts);
  };
  for (const name of Object.keys(channels) as ToolServerChannelName[]) {
    const what = name.replace("socket:", "") as keyof SocketCounts;
    if (name === "socket:closed") {
      listen(name, (message) => {
        const { subject, reason } = message as Ending<SocketInfo>;
        count(subject, what);
        if (subject.transport === info) reasons.push(reason);
      });
    } else if (name.startsWith("socket:")) listen(name, (message) => count(message as SocketInfo, what));
  }
  listen("trace", (message) => {
    if ((message as TraceEvent).subject === info) stories.push(message as TraceEvent);
  });
  return {
    sockets,
    reasons,
    stories,
    totals() {
      const sum = { ...nothing };
      for (const counts of sockets.values())
        for (const what of Object.keys(sum) as (keyof SocketCounts)[]) sum[what] += counts[what];
      return sum;
    },
    words: () => [...reasons, ...stories.map(({ text }) => text)].join("\n"),
  };
}
