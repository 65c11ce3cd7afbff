import type { ChannelData, ServerData, SocketData } from "../gen/rpc/channelz/v1/channelz_pb.js";

/** The counters of an object as plain numbers: calls of a channel, subchannel or server, streams and messages of a socket. */
export interface Counters {
  /** Calls, or streams of a socket. */
  readonly started: number;
  readonly succeeded: number;
  readonly failed: number;
  /** For sockets; 0 otherwise. */
  readonly messagesSent: number;
  readonly messagesReceived: number;
  readonly keepAlivesSent: number;
}

/** The names of all counters. */
export const counterFields: readonly (keyof Counters)[] = [
  "started",
  "succeeded",
  "failed",
  "messagesSent",
  "messagesReceived",
  "keepAlivesSent",
];

/** The counters of an object that counted nothing, or could not be read. */
export const noCounters: Counters = Object.freeze({
  started: 0,
  succeeded: 0,
  failed: 0,
  messagesSent: 0,
  messagesReceived: 0,
  keepAlivesSent: 0,
});

/** The counters in the data of an object. */
export function countersOf(data: ChannelData | ServerData | SocketData | undefined): Counters {
  if (data === undefined) return noCounters;
  if (data.$typeName === "rpc.channelz.v1.SocketData") {
    return {
      started: Number(data.streamsStarted),
      succeeded: Number(data.streamsSucceeded),
      failed: Number(data.streamsFailed),
      messagesSent: Number(data.messagesSent),
      messagesReceived: Number(data.messagesReceived),
      keepAlivesSent: Number(data.keepAlivesSent),
    };
  }
  return {
    ...noCounters,
    started: Number(data.callsStarted),
    succeeded: Number(data.callsSucceeded),
    failed: Number(data.callsFailed),
  };
}

/** Whether a counter went backwards: the process restarted and reuses the id, or the peer lost count. */
export function isRestart(before: Counters, after: Counters): boolean {
  return counterFields.some((field) => after[field] < before[field]);
}

/** How far the counters of an object advanced. After a restart they count from 0. */
export function counterDifference(before: Counters, after: Counters): Counters {
  if (isRestart(before, after)) return after;
  return mapCounters((field) => after[field] - before[field]);
}

/** The sum of the counters of several objects. */
export function sumCounters(all: Iterable<Counters>): Counters {
  const sum = { ...noCounters };
  for (const counters of all) for (const field of counterFields) sum[field] += counters[field];
  return sum;
}

/** The number of calls or streams that have not ended. Never negative, although peers read their counters one after another. */
export function inFlight({ started, succeeded, failed }: Counters): number {
  return Math.max(0, started - succeeded - failed);
}

/**
 * Counts per second between two states of one object. After a restart, the counters of the later state count from 0. All rates
 * are 0 if no time elapsed.
 */
export function ratesBetween(
  before: { readonly counters: Counters },
  after: { readonly counters: Counters },
  elapsedMs: number,
): Counters {
  if (!(elapsedMs > 0)) return noCounters;
  const difference = counterDifference(before.counters, after.counters);
  return mapCounters((field) => (difference[field] * 1000) / elapsedMs);
}

function mapCounters(value: (field: keyof Counters) => number): Counters {
  return {
    started: value("started"),
    succeeded: value("succeeded"),
    failed: value("failed"),
    messagesSent: value("messagesSent"),
    messagesReceived: value("messagesReceived"),
    keepAlivesSent: value("keepAlivesSent"),
  };
}
