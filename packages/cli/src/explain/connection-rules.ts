import type { ChannelTraceEvent } from "@wirescope/channelz";
import { findFailure } from "@wirescope/channelz/client";
import {
  becameReady,
  formatSpan,
  type ReasonKind,
  reasonKindOf,
  repetitionsOf,
  timeOf,
} from "@wirescope/channelz/internal/text";
import type { ObjectKey, Snapshot, SnapshotObject } from "@wirescope/channelz/timeline";
import {
  ageOf,
  counted,
  type Finding,
  isRecent,
  keepaliveAdvice,
  keepaliveFailure,
  listNames,
  nameOf,
  type Observation,
  type Rule,
} from "./finding.js";
import { defaultThresholds } from "./thresholds.js";

const maxBelow = 64;

type ChannelObject = Extract<SnapshotObject, { readonly kind: "channel" | "subchannel" }>;

/** Rules about connections that fail or do not last. */
export const connectionRules: readonly Rule[] = [
  {
    id: "target-silent",
    finds: "a process that does not respond to Channelz",
    threshold: "the last read failed",
    find: ({ last }) =>
      last.origins.flatMap(({ name, target, error, errorSubject }) =>
        error === undefined
          ? []
          : [
              {
                severity: "error",
                problem: `${name || target || "None of the targets"} does not respond.`,
                evidence: [errorSubject === (name || target) ? withoutSubject(error, errorSubject) : error],
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
        const failure = findFailure(channelsFrom(last, channel.key).flatMap(({ message }) => message ?? []));
        const key = `${channel.target} ${failure?.reason ?? ""}`;
        const group = groups.get(key) ?? { channels: [], failure };
        group.channels.push(channel);
        groups.set(key, group);
      }
      return [...groups.values()].map(({ channels, failure }): Finding => {
        const [channel] = channels;
        const target = channel?.target || (channel === undefined ? "" : nameOf(channel));
        const { problem, advice } = causeOf(failure?.reason ?? "");
        return {
          severity: "error",
          problem: `${problem(target)}: ${counted(channels.length, "channel")} in TRANSIENT_FAILURE.`,
          evidence: [failure?.reason ?? "The traces name no reason.", listNames(channels)],
          advice,
          objects: channels,
          since: failure?.since,
        };
      });
    },
  },
  {
    id: "flapping",
    finds: "a channel or subchannel that connects and fails again and again",
    threshold: `${defaultThresholds.minFlaps} lost connections within ${formatSpan(defaultThresholds.flapWindowMs)}`,
    find: (seen) => {
      const { minFlaps, flapWindowMs } = seen.thresholds;
      const flaps = new Map<ObjectKey, number>();
      for (const object of seen.objects) {
        if (!isChannel(object) || object.state === "TRANSIENT_FAILURE") continue;
        const losses = lossesOf(object, seen);
        if (losses >= minFlaps) flaps.set(object.key, losses);
      }
      // Parents come first, and are reported together with their children.
      const families = [...flaps.keys()]
        .map((key) => channelsFrom(seen.last, key).filter((each) => flaps.has(each.key)))
        .sort((a, b) => b.length - a.length);
      const reported = new Set<ChannelObject>();
      return families.flatMap(([object, ...others]): Finding[] => {
        if (object === undefined || reported.has(object)) return [];
        for (const each of others) reported.add(each);
        const failed = [object, ...others].flatMap((each) => keepaliveFailure(seen, each) ?? [])[0];
        return [
          {
            severity: "warning",
            problem: `${nameOf(object)} loses its connection again and again${failed === undefined ? "" : ": its keepalives fail"}.`,
            evidence: [
              `It lost a connection ${flaps.get(object.key)} times within ${formatSpan(flapWindowMs)}.`,
              ...(others.length === 0 ? [] : [`Also affected: ${listNames(others)}.`]),
              ...(failed === undefined ? [] : [failed.description]),
            ],
            advice:
              failed === undefined
                ? "Compare with restarts and idle timeouts of the peer and of load balancers in between; keepalives must be more frequent than those."
                : keepaliveAdvice(failed),
            objects: [object, ...others],
          },
        ];
      });
    },
  },
  {
    id: "stuck-connecting",
    finds: "a channel or subchannel that stays in CONNECTING",
    threshold: `${formatSpan(defaultThresholds.stuckMs)} since the last event of its trace, by the clock of the process, or CONNECTING at every read of a longer time`,
    find: (seen) =>
      seen.objects.flatMap((object): Finding[] => {
        if (!isChannel(object) || object.state !== "CONNECTING") return [];
        const since = timeOf(eventsOf(object).at(-1)?.timestamp);
        const spanMs = since === undefined ? timeInState(seen, object) : ageOf(seen, object, since.getTime());
        if (spanMs < seen.thresholds.stuckMs) return [];
        return [
          {
            severity: "error",
            problem: `${nameOf(object)} has been CONNECTING for ${formatSpan(spanMs)}.`,
            evidence: [
              since === undefined
                ? "It was CONNECTING at every read."
                : `Nothing has happened since ${since.toISOString()}, by the clock of the process.`,
            ],
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

/** A channel, and the channels and subchannels below it. */
function channelsFrom({ objects }: Snapshot, top: ObjectKey): ChannelObject[] {
  const found = new Map<ObjectKey, ChannelObject>();
  const add = (key: ObjectKey): void => {
    const object = objects.get(key);
    if (object !== undefined && isChannel(object) && found.size < maxBelow) found.set(key, object);
  };
  add(top);
  for (const { children } of found.values()) for (const key of children) add(key);
  return [...found.values()];
}

/** How often a connection was lost in the recent part of the trace, or between reads. */
function lossesOf(object: ChannelObject, seen: Observation): number {
  const { snapshots, thresholds } = seen;
  const recent = eventsOf(object).filter(({ timestamp }) =>
    isRecent(seen, object, timeOf(timestamp), thresholds.flapWindowMs),
  );
  const connections = recent
    .filter(({ description }) => becameReady(description))
    .reduce((sum, { description }) => sum + repetitionsOf(description), 0);
  const traced = connections - (object.state === "READY" ? 1 : 0);
  const states = snapshots.map(({ objects }) => objects.get(object.key)?.state);
  const lost = states.filter((state, index) => index > 0 && state !== "READY" && states[index - 1] === "READY").length;
  return Math.max(traced, lost);
}

/** How long it was seen in its state, by the times of the reads. */
function timeInState({ snapshots, last }: Observation, { key, state }: ChannelObject): number {
  const change = snapshots.findLastIndex(({ objects }) => objects.get(key)?.state !== state);
  return last.timeMs - (snapshots[change + 1]?.timeMs ?? last.timeMs);
}

interface CauseText {
  /** A clause about the target. */
  problem(target: string): string;
  readonly advice: string;
}

const noConnection = (target: string): string => `No connection to ${target}`;

/** What the usual reasons mean, and the next step. If a server refuses a request, the connection itself works. */
const causes: Readonly<Record<ReasonKind, CauseText>> = {
  refused: { problem: noConnection, advice: "Start the server, or correct the port: nothing listens there." },
  permission: {
    problem: noConnection,
    advice: "Allow the user that runs the client to open this socket: check the mode and owner of its file.",
  },
  unauthenticated: {
    problem: (target) => `${target} does not accept the credentials of the client`,
    advice: "Check the credentials that the client sends: they are missing, wrong or expired.",
  },
  forbidden: {
    problem: (target) => `${target} does not allow this client`,
    advice: "Check the permissions of the client at the server; its credentials were recognized.",
  },
  tls: {
    problem: (target) => `No secure connection to ${target}`,
    advice:
      "Check the certificate of the server and the CA that the client trusts: wirescope sockets, wirescope find <name>.",
  },
  name: { problem: noConnection, advice: "Check the host name and the DNS of the client's machine." },
  network: {
    problem: noConnection,
    advice: "Check the network between the two: routes, firewalls, security groups.",
  },
  "http-status": {
    problem: (target) => `${target} responds with an error`,
    advice: "Look at the logs of the server, and check the path of the target.",
  },
};

const unknownCause: CauseText = {
  problem: noConnection,
  advice: "Look at the traces of the subchannels: wirescope tree, wirescope show <id>.",
};

function causeOf(reason: string): CauseText {
  const kind = reasonKindOf(reason);
  return kind === undefined ? unknownCause : causes[kind];
}

/** An error without its subject, which the line above already shows. */
function withoutSubject(error: string, subject: string): string {
  const rest = error.slice(subject.length + 1);
  return `${rest.charAt(0).toUpperCase()}${rest.slice(1)}`;
}
