import type { Channel, ChannelTraceEvent, Subchannel } from "@wirescope/channelz";
import { findFailure } from "@wirescope/channelz/client";
import { formatSpan, timeOf } from "@wirescope/channelz/internal/text";
import type { ObjectKey, Snapshot, SnapshotObject } from "@wirescope/channelz/timeline";
import { counted, type Finding, listNames, nameOf, type Observation, type Rule } from "./finding.js";

const flapWindowMs = 10 * 60_000;
const minFlaps = 3;
const stuckMs = 20_000;
const maxBelow = 64;

// Not every implementation traces the state before a change, but each connection begins with this one.
const connected = /(?:->|\bto)\s*READY\b/i;

type ChannelObject = Extract<SnapshotObject, { readonly kind: "channel" | "subchannel" }>;

/** Rules about connections that cannot be made, or do not last. */
export const connectionRules: readonly Rule[] = [
  {
    id: "target-silent",
    finds: "a process that does not respond to Channelz",
    threshold: "the last read failed",
    find: ({ last }) =>
      last.origins.flatMap(({ name, target, error }) =>
        error === undefined
          ? []
          : [
              {
                severity: "error",
                problem: `${name || target} does not respond.`,
                evidence: [error],
                advice: "Check that the process runs and serves Channelz at this address.",
                objects: [],
              },
            ],
      ),
  },
  {
    id: "failing-target",
    finds: "channels in TRANSIENT_FAILURE, by target and reason",
    threshold: "the state at the last read",
    find: ({ last, objects }) => {
      const groups = new Map<string, { channels: ChannelObject[]; failure: ReturnType<typeof findFailure> }>();
      for (const channel of objects) {
        if (!isChannel(channel) || !channel.isTop || channel.state !== "TRANSIENT_FAILURE") continue;
        const failure = findFailure(withBelow(last, channel));
        const key = `${channel.target} ${failure?.reason ?? ""}`;
        const group = groups.get(key) ?? { channels: [], failure };
        group.channels.push(channel);
        groups.set(key, group);
      }
      return [...groups.values()].map(({ channels, failure }): Finding => {
        const [channel] = channels;
        const target = channel?.target || (channel === undefined ? "" : nameOf(channel));
        return {
          severity: "error",
          problem: `No connection to ${target}: ${counted(channels.length, "channel")} in TRANSIENT_FAILURE.`,
          evidence: [failure?.reason ?? "The traces name no reason.", listNames(channels)],
          advice: adviceFor(failure?.reason ?? ""),
          objects: channels,
          since: failure?.since,
        };
      });
    },
  },
  {
    id: "flapping",
    finds: "a channel or subchannel that connects and fails again and again",
    threshold: `${minFlaps} lost connections within ${formatSpan(flapWindowMs)}`,
    find: (seen) =>
      seen.objects.flatMap((object): Finding[] => {
        if (!isChannel(object) || object.state === "TRANSIENT_FAILURE") return [];
        const flaps = lossesOf(object, seen);
        if (flaps < minFlaps) return [];
        return [
          {
            severity: "warning",
            problem: `${nameOf(object)} loses its connection again and again.`,
            evidence: [`It lost a connection ${flaps} times within ${formatSpan(flapWindowMs)}.`],
            advice:
              "Compare with restarts and idle timeouts of the peer and of load balancers in between; keepalives must be more frequent than those.",
            objects: [object],
          },
        ];
      }),
  },
  {
    id: "stuck-connecting",
    finds: "a channel or subchannel that stays in CONNECTING",
    threshold: `${formatSpan(stuckMs)} since the last change of state, or CONNECTING at every read of a longer time`,
    find: (seen) =>
      seen.objects.flatMap((object): Finding[] => {
        if (!isChannel(object) || object.state !== "CONNECTING") return [];
        const since = timeOf(eventsOf(object).at(-1)?.timestamp) ?? firstInState(seen, object);
        const spanMs = seen.last.timeMs - (since?.getTime() ?? seen.last.timeMs);
        if (spanMs < stuckMs) return [];
        return [
          {
            severity: "error",
            problem: `${nameOf(object)} has been CONNECTING for ${formatSpan(spanMs)}.`,
            evidence: [`Nothing has happened since ${since?.toISOString()}.`],
            advice:
              "The peer accepts no connection, or no handshake: a firewall that drops packets, a full accept queue, or a TLS handshake without a response.",
            objects: [object],
            since,
          },
        ];
      }),
  },
];

function isChannel(object: SnapshotObject): object is ChannelObject {
  return object.kind === "channel" || object.kind === "subchannel";
}

function eventsOf({ message }: ChannelObject): readonly ChannelTraceEvent[] {
  return message?.data?.trace?.events ?? [];
}

/** The messages of a channel and of the channels and subchannels below it. */
function withBelow({ objects }: Snapshot, top: ChannelObject): (Channel | Subchannel)[] {
  const found = new Map<ObjectKey, ChannelObject>([[top.key, top]]);
  for (const { children } of found.values()) {
    for (const key of children) {
      const child = objects.get(key);
      if (child !== undefined && isChannel(child) && found.size < maxBelow) found.set(key, child);
    }
  }
  return [...found.values()].flatMap(({ message }) => message ?? []);
}

/** How often a connection was lost in the recent part of the trace, or between reads. */
function lossesOf(object: ChannelObject, { snapshots, last }: Observation): number {
  const recent = eventsOf(object).filter(({ timestamp }) => {
    const time = timeOf(timestamp)?.getTime();
    return time !== undefined && time > last.timeMs - flapWindowMs;
  });
  const connections = recent.reduce((sum, { description }) => {
    if (!connected.test(description)) return sum;
    return sum + Number(/repeated (\d{1,6}) times/.exec(description)?.[1] ?? 1);
  }, 0);
  const traced = connections - (object.state === "READY" ? 1 : 0);
  const states = snapshots.map(({ objects }) => objects.get(object.key)?.state);
  const seen = states.filter((state, index) => index > 0 && state !== "READY" && states[index - 1] === "READY").length;
  return Math.max(traced, seen);
}

function firstInState({ snapshots }: Observation, { key, state }: ChannelObject): Date | undefined {
  const change = snapshots.findLastIndex(({ objects }) => objects.get(key)?.state !== state);
  const first = snapshots[change + 1];
  return first === undefined ? undefined : new Date(first.timeMs);
}

/** The next step for the usual reasons. */
function adviceFor(reason: string): string {
  if (/unauth|forbidden|denied|\b40[13]\b/i.test(reason)) return "Check the credentials that the client sends.";
  if (/ECONNREFUSED|connection refused/i.test(reason))
    return "Start the server, or correct the port: nothing listens there.";
  if (/certificate|\btls\b|\bssl\b|handshake/i.test(reason)) {
    return "Check the certificate of the server and the CA that the client trusts: wirescope sockets, wirescope find <name>.";
  }
  if (/ENOTFOUND|EAI_AGAIN|resolv|\bdns\b|no such host/i.test(reason)) {
    return "Check the host name and the DNS of the client's machine.";
  }
  if (/time[d ]*\s*out|timeout|deadline|unreachable/i.test(reason)) {
    return "Check the network between the two: routes, firewalls, security groups.";
  }
  return "Look at the traces of the subchannels: wirescope tree, wirescope show <id>.";
}
