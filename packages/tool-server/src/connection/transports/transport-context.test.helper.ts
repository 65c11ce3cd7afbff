import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { onTestFinished } from "vitest";
import { createNoCredential } from "../../auth/credentials/fixed-credential.js";
import { systemClock } from "../../clock.js";
import {
  channelPrefix,
  channels,
  type Ending,
  type StoryEvent,
  type ToolServerChannelName,
} from "../../diagnostics/channels.js";
import type { TransportFacts, TransportKind, WireFacts } from "../../diagnostics/facts.js";
import { createTell } from "../../diagnostics/tell.js";
import { createSecretRegistry, type SecretRegistry } from "../../secrets/redactor.js";
import { defaultLimits, type TransportContext } from "./transport.js";

/** A context for the test of a transport, and what was published of it. */
export interface TestContext extends TransportContext {
  readonly secrets: SecretRegistry;
}

export function createTestContext(kind: TransportKind, changes: Partial<TransportContext> = {}): TestContext {
  const secrets = createSecretRegistry();
  const credential = changes.credential ?? createNoCredential({ server: "notes" });
  const facts: TransportFacts = {
    target: "test",
    connection: { kind, name: "notes", target: "test", tenant: {}, credential: () => credential.describe() },
  };
  return {
    server: "notes",
    facts,
    tell: createTell(secrets),
    clock: systemClock,
    limits: defaultLimits,
    ...changes,
    credential,
    secrets,
  };
}

/** How often each thing happened on a wire. */
export type WireCounts = Record<
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
  /** By wire, in the order of their opening. */
  readonly wires: ReadonlyMap<WireFacts, WireCounts>;
  /** Over all wires. */
  totals(): WireCounts;
  /** Why wires closed. */
  readonly reasons: readonly string[];
  readonly stories: readonly StoryEvent[];
  /** Everything in words. */
  words(): string;
}

const nothing: WireCounts = {
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
export function listenTo(facts: TransportFacts): Published {
  const wires = new Map<WireFacts, WireCounts>();
  const reasons: string[] = [];
  const stories: StoryEvent[] = [];
  const listen = (name: ToolServerChannelName, onMessage: (message: unknown) => void): void => {
    subscribe(`${channelPrefix}${name}`, onMessage);
    onTestFinished(() => void unsubscribe(`${channelPrefix}${name}`, onMessage));
  };
  const count = (wire: WireFacts, what: keyof WireCounts): void => {
    if (wire.transport !== facts) return;
    const counts = wires.get(wire) ?? { ...nothing };
    counts[what] += 1;
    wires.set(wire, counts);
  };
  for (const name of Object.keys(channels) as ToolServerChannelName[]) {
    const what = name.replace("wire:", "") as keyof WireCounts;
    if (name === "wire:closed") {
      listen(name, (message) => {
        const { subject, reason } = message as Ending<WireFacts>;
        count(subject, what);
        if (subject.transport === facts) reasons.push(reason);
      });
    } else if (name.startsWith("wire:")) listen(name, (message) => count(message as WireFacts, what));
  }
  listen("story", (message) => {
    if ((message as StoryEvent).subject === facts) stories.push(message as StoryEvent);
  });
  return {
    wires,
    reasons,
    stories,
    totals() {
      const sum = { ...nothing };
      for (const counts of wires.values())
        for (const what of Object.keys(sum) as (keyof WireCounts)[]) sum[what] += counts[what];
      return sum;
    },
    words: () => [...reasons, ...stories.map(({ text }) => text)].join("\n"),
  };
}
