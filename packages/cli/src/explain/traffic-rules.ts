import type { Socket } from "@wirescope/channelz";
import { formatSpan, timeOf } from "@wirescope/channelz/internal/text";
import type { SnapshotObject } from "@wirescope/channelz/timeline";
import {
  ageOf,
  alwaysInFlight,
  counted,
  type Finding,
  keepaliveAdvice,
  keepaliveFailure,
  nameOf,
  type Observation,
  type Rule,
  rateOf,
} from "./finding.js";
import { defaultThresholds } from "./thresholds.js";

const { minEnded, failedShare, quietMs, recentMs, minSiblings, minRate, hotShare, minGrowth, minReads } =
  defaultThresholds;

type SocketObject = Extract<SnapshotObject, { readonly kind: "socket" }>;

/** Rules about calls, streams and messages. */
export const trafficRules: readonly Rule[] = [
  {
    id: "failing-calls",
    finds: "a channel or server whose calls fail",
    threshold: `at least ${minEnded} calls ended between the reads, and ${failedShare * 100} % of them failed`,
    find: (seen) =>
      seen.objects.flatMap((object): Finding[] => {
        if (!object.isTop && object.kind !== "server") return [];
        const before = seen.first.objects.get(object.key);
        if (before === undefined || before === object) return [];
        const failed = object.counters.failed - before.counters.failed;
        const ended = failed + object.counters.succeeded - before.counters.succeeded;
        if (ended < seen.thresholds.minEnded || failed / ended < seen.thresholds.failedShare) return [];
        return [
          {
            severity: failed / ended >= 0.5 ? "error" : "warning",
            problem: `${((failed / ended) * 100).toFixed(0)} % of the calls of ${nameOf(object)} fail.`,
            evidence: [`${failed} of ${ended} calls in ${formatSpan(seen.elapsedMs)}.`],
            advice:
              "Compare with the logs of the server for these calls; the traces show whether connections fail too.",
            objects: [object],
          },
        ];
      }),
  },
  {
    id: "endless-streams",
    finds: "streams in progress on a socket that has been silent",
    threshold: `no message and no new stream for ${formatSpan(quietMs)}, by the clock of the process`,
    find: (seen) =>
      sockets(seen).flatMap((object): Finding[] => {
        const stuck = alwaysInFlight(seen, object);
        const lastMs = lastActivity(object.message);
        if (stuck < 1 || lastMs === undefined) return [];
        const quietMs = ageOf(seen, object, lastMs);
        if (quietMs < seen.thresholds.quietMs) return [];
        return [
          {
            severity: "note",
            problem: `${counted(stuck, "stream")} on ${nameOf(object)} ${stuck === 1 ? "does" : "do"} not end.`,
            evidence: [`The last message or stream was ${formatSpan(quietMs)} ago.`],
            advice:
              "Subscriptions and watches look like this. Otherwise set deadlines, and look for a handler that waits.",
            objects: [object],
            since: new Date(lastMs),
          },
        ];
      }),
  },
  {
    id: "flow-control-stall",
    finds: "a connection whose flow-control window is used up while streams wait",
    threshold: "a window of 0 with streams in progress, at every read; a note if messages still pass",
    find: (seen) =>
      sockets(seen).flatMap((object): Finding[] => {
        const { localFlowControlWindow: local, remoteFlowControlWindow: remote } = object.message?.data ?? {};
        const isBlocked = isAlwaysZero(seen, object, "localFlowControlWindow");
        const isBlocking = isAlwaysZero(seen, object, "remoteFlowControlWindow");
        if (alwaysInFlight(seen, object) === 0 || (!isBlocked && !isBlocking)) return [];
        const rate = rateOf(seen, object);
        const passes = (isBlocked ? rate.messagesSent : rate.messagesReceived) > 0;
        const who = isBlocked
          ? "The peer reads too slowly: it has not opened the window."
          : "This process reads too slowly.";
        return [
          {
            severity: passes ? "note" : "warning",
            problem: `${nameOf(object)} is ${passes ? "slowed" : "stalled"} by flow control.`,
            evidence: [`Windows: local ${local ?? "unknown"}, remote ${remote ?? "unknown"} bytes. ${who}`],
            advice: isBlocked
              ? "Look at the other process: a consumer that does not read holds all streams of the connection."
              : "Look for a consumer in this process that does not read, or raise its window.",
            objects: [object],
          },
        ];
      }),
  },
  {
    id: "keepalive-failure",
    finds: "keepalives that get no response, or that the peer rejects",
    threshold: `a trace event of the last ${formatSpan(recentMs)} that says so, or keepalives but no message on a connection with streams in progress`,
    find: (seen) => [...rejectedKeepalives(seen), ...silentKeepalives(seen)],
  },
  {
    id: "uneven-load",
    finds: "one of several connections of a channel that takes most of the load",
    threshold: `${hotShare * 100} % of at least ${minRate} calls a second, with ${minSiblings} or more that are connected`,
    find: unevenLoad,
  },
  {
    id: "growing",
    finds: "a number of objects that only grows, such as leaked channels",
    threshold: `${minGrowth} more, and none fewer, over ${minReads} reads or more`,
    find: growingObjects,
  },
  {
    id: "contradicting-counters",
    finds: "counters that cannot all be right",
    threshold: "more calls ended than started by more than 1 %, or a counter that went backwards",
    find: (seen) =>
      seen.objects.flatMap((object): Finding[] => {
        const { started, succeeded, failed } = object.counters;
        const before = seen.first.objects.get(object.key)?.counters;
        const wentBack = before !== undefined && (started < before.started || failed < before.failed);
        if (succeeded + failed <= started * 1.01 && !wentBack) return [];
        return [
          {
            severity: "note",
            problem: `The counters of ${nameOf(object)} contradict each other.`,
            evidence: [
              `${started} started, ${succeeded} succeeded, ${failed} failed${wentBack ? "; fewer than before" : ""}.`,
            ],
            advice: wentBack
              ? "The process restarted, or reuses ids. Rates over this time are not reliable."
              : "A defect of the peer's Channelz. Do not alert on these counters.",
            objects: [object],
          },
        ];
      }),
  },
];

function sockets({ objects }: Observation): SocketObject[] {
  return objects.filter((object) => object.kind === "socket");
}

/** Whether a window was exhausted at every read. A bulk transfer exhausts it for a moment, so one read proves nothing. */
function isAlwaysZero(
  { snapshots }: Observation,
  { key }: SocketObject,
  window: "localFlowControlWindow" | "remoteFlowControlWindow",
): boolean {
  return snapshots.every(({ objects }) => {
    const object = objects.get(key);
    const size = object?.kind === "socket" ? object.message?.data?.[window] : undefined;
    return size !== undefined && size <= 0n;
  });
}

/** The time of the last message or stream, in milliseconds. */
function lastActivity(socket: Socket | undefined): number | undefined {
  const { data } = socket ?? {};
  const times = [
    data?.lastLocalStreamCreatedTimestamp,
    data?.lastRemoteStreamCreatedTimestamp,
    data?.lastMessageSentTimestamp,
    data?.lastMessageReceivedTimestamp,
  ].flatMap((time) => timeOf(time)?.getTime() ?? []);
  return times.length === 0 ? undefined : Math.max(...times);
}

function rejectedKeepalives(seen: Observation): Finding[] {
  return seen.objects.flatMap((object): Finding[] => {
    const event = keepaliveFailure(seen, object);
    if (event === undefined) return [];
    return [
      {
        severity: "warning",
        problem: `Keepalives of ${nameOf(object)} fail.`,
        evidence: [event.description],
        advice: keepaliveAdvice(event),
        objects: [object],
        since: timeOf(event.timestamp),
      },
    ];
  });
}

function silentKeepalives(seen: Observation): Finding[] {
  return sockets(seen).flatMap((object): Finding[] => {
    const rate = rateOf(seen, object);
    if (rate.keepAlivesSent === 0 || rate.messagesReceived > 0 || alwaysInFlight(seen, object) < 1) return [];
    return [
      {
        severity: "note",
        problem: `${nameOf(object)} sends keepalives and receives no message, with streams in progress.`,
        evidence: [
          `${counted(Math.round((rate.keepAlivesSent * seen.elapsedMs) / 1000), "keepalive")} sent meanwhile.`,
        ],
        advice: "If it lasts, the peer accepts connections but is stuck: run wirescope explain on it too.",
        objects: [object],
      },
    ];
  });
}

function unevenLoad(seen: Observation): Finding[] {
  const { thresholds } = seen;
  return seen.objects.flatMap((parent): Finding[] => {
    // Servers are skipped: their clients differ, and one of them is this command.
    if (parent.kind !== "channel" && parent.kind !== "subchannel") return [];
    const children = parent.children
      .flatMap((key) => seen.last.objects.get(key) ?? [])
      // With pick_first, the default, one subchannel is connected and the others are idle.
      .filter(({ kind, state }) => kind === "socket" || state === "READY");
    if (children.length < thresholds.minSiblings) return [];
    const rates = children.map((child) => rateOf(seen, child).started);
    const total = rates.reduce((sum, rate) => sum + rate, 0);
    const most = Math.max(...rates);
    const hot = children[rates.indexOf(most)];
    if (hot === undefined || total < thresholds.minRate || most / total < thresholds.hotShare) return [];
    return [
      {
        severity: "warning",
        problem: `${nameOf(hot)} takes ${((most / total) * 100).toFixed(0)} % of the load of ${nameOf(parent)}.`,
        evidence: [`${most.toFixed(0)} of ${total.toFixed(0)} calls a second, among ${children.length} connections.`],
        advice:
          "Check the load-balancing policy and the weights of the backends; a few clients with long streams look like this too.",
        objects: [hot, parent],
      },
    ];
  });
}

function growingObjects({ snapshots, last, thresholds }: Observation): Finding[] {
  if (snapshots.length < thresholds.minReads) return [];
  const kinds = ["channel", "subchannel", "server", "socket"] as const;
  return last.origins.flatMap(({ name }) =>
    kinds.flatMap((kind): Finding[] => {
      const counts = snapshots.map(
        ({ objects }) =>
          [...objects.values()].filter((object) => object.kind === kind && object.origin === name).length,
      );
      const grows = counts.every((count, index) => index === 0 || count >= (counts[index - 1] ?? 0));
      const [first = 0, end = 0] = [counts[0], counts.at(-1)];
      if (!grows || end - first < thresholds.minGrowth) return [];
      return [
        {
          severity: "warning",
          problem: `The number of ${kind}s only grows${name === "" ? "" : ` in ${name}`}.`,
          evidence: [`From ${first} to ${end} in ${snapshots.length} reads, never fewer.`],
          advice:
            kind === "socket"
              ? "Look for clients that connect and never disconnect: wirescope sockets --group."
              : `Look for code that creates a ${kind} for each call and does not close it.`,
          objects: [],
        },
      ];
    }),
  );
}
