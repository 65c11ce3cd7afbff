import type { Channel, Source, Subchannel } from "@wirescope/channelz";
import { type Failure, findFailure, isFailing } from "@wirescope/channelz/client";
import { mapBounded } from "@wirescope/channelz/internal";
import { timeOf } from "@wirescope/channelz/internal/text";
import {
  type Counters,
  type ObjectKey,
  type Origin,
  type Snapshot,
  type SnapshotObject,
  sumCounters,
} from "@wirescope/channelz/timeline";
import { certificatesOf, subjectOf } from "./certificates.js";

/** An overview of one or more processes. */
export interface Summary {
  /** Objects by kind, and by state for channels and subchannels. */
  readonly counts: Readonly<Record<SnapshotObject["kind"], number>>;
  readonly channelStates: ReadonlyMap<string, number>;
  readonly subchannelStates: ReadonlyMap<string, number>;
  /** Calls of top-level channels, and of servers. */
  readonly outgoing: Counters;
  readonly incoming: Counters;
  /** Streams and messages of all sockets. */
  readonly sockets: Counters;
  readonly lastCall: Date | undefined;
  /** Channels that fail for the same target and reason, the oldest first. */
  readonly failures: readonly FailureGroup[];
  readonly unreadable: number;
  readonly certificates: readonly ExpiringCertificate[];
  /** Targets that do not respond. */
  readonly silent: readonly Origin[];
}

/** Channels that fail for the same target and reason. */
export interface FailureGroup {
  readonly target: string;
  readonly reason: string | undefined;
  readonly since: Date | undefined;
  readonly channels: readonly SnapshotObject[];
}

/** A certificate that expired or expires soon. */
export interface ExpiringCertificate {
  readonly subject: string;
  readonly side: "local" | "remote";
  readonly expiry: Date;
  /** The sockets that use it, among those that were read in detail. */
  readonly sockets: readonly SnapshotObject[];
}

/** Computes the summary of a snapshot. `details` are sockets that were read with their certificates. */
export function summarize(snapshot: Snapshot, details: readonly SnapshotObject[], expiresBefore: Date): Summary {
  const objects = [...snapshot.objects.values()];
  const ofKind = (kind: SnapshotObject["kind"]): SnapshotObject[] => objects.filter((object) => object.kind === kind);
  const tops = objects.filter(({ isTop }) => isTop);
  const servers = ofKind("server");
  const lastCalls = [...tops, ...servers].flatMap(({ kind, message }) =>
    kind === "socket"
      ? []
      : (timeOf((message as Channel | undefined)?.data?.lastCallStartedTimestamp)?.getTime() ?? []),
  );
  return {
    counts: {
      channel: ofKind("channel").length,
      subchannel: ofKind("subchannel").length,
      server: servers.length,
      socket: ofKind("socket").length,
    },
    channelStates: statesOf(tops),
    subchannelStates: statesOf(ofKind("subchannel")),
    outgoing: sumCounters(tops.map(({ counters }) => counters)),
    incoming: sumCounters(servers.map(({ counters }) => counters)),
    sockets: sumCounters(ofKind("socket").map(({ counters }) => counters)),
    lastCall: lastCalls.length === 0 ? undefined : new Date(lastCalls.reduce((a, b) => Math.max(a, b))),
    failures: failuresOf(snapshot, tops),
    unreadable: objects.filter(({ unreadable }) => unreadable !== undefined).length,
    certificates: expiringOf(details, expiresBefore),
    silent: snapshot.origins.filter(({ error }) => error !== undefined),
  };
}

const stateOrder = ["TRANSIENT_FAILURE", "CONNECTING", "UNKNOWN", "READY", "IDLE", "SHUTDOWN"];

function statesOf(objects: readonly SnapshotObject[]): Map<string, number> {
  const counts = new Map(stateOrder.map((state) => [state, 0]));
  for (const { state = "UNKNOWN" } of objects) counts.set(state, (counts.get(state) ?? 0) + 1);
  return new Map([...counts].filter(([, count]) => count > 0));
}

function failuresOf(snapshot: Snapshot, tops: readonly SnapshotObject[]): FailureGroup[] {
  const groups = new Map<
    string,
    { target: string; failure: Failure; since: Date | undefined; channels: SnapshotObject[] }
  >();
  for (const top of tops) {
    if (top.state !== "TRANSIENT_FAILURE" && top.state !== "CONNECTING") continue;
    const failure = findFailure(messagesBelow(snapshot, top)) ?? {};
    if (top.message === undefined || !isFailing(top.message as Channel, failure)) continue;
    const target = top.target || top.name;
    const key = `${target}\n${failure.reason ?? ""}`;
    const group = groups.get(key) ?? { target, failure, since: undefined, channels: [] };
    groups.set(key, group);
    group.channels.push(top);
    if (failure.since !== undefined && (group.since === undefined || failure.since < group.since)) {
      group.since = failure.since;
    }
  }
  return [...groups.values()]
    .map(({ target, failure, since, channels }) => ({ target, reason: failure.reason, since, channels }))
    .sort((a, b) => (a.since?.getTime() ?? Number.MAX_VALUE) - (b.since?.getTime() ?? Number.MAX_VALUE));
}

const maxObjectsBelow = 16;

/** A channel and its descendants, each once, up to a limit. */
function messagesBelow(snapshot: Snapshot, top: SnapshotObject): (Channel | Subchannel)[] {
  const keys = new Set<ObjectKey>([top.key]);
  const messages: (Channel | Subchannel)[] = [];
  for (const key of keys) {
    const object = snapshot.objects.get(key);
    if (object?.message === undefined || (object.kind !== "channel" && object.kind !== "subchannel")) continue;
    messages.push(object.message);
    for (const child of object.children.slice(0, maxObjectsBelow)) if (keys.size < maxObjectsBelow) keys.add(child);
  }
  return messages;
}

function expiringOf(details: readonly SnapshotObject[], before: Date): ExpiringCertificate[] {
  const found = new Map<
    string,
    { subject: string; side: "local" | "remote"; expiry: Date; sockets: SnapshotObject[] }
  >();
  for (const socket of details) {
    if (socket.kind !== "socket") continue;
    for (const { side, certificate, expiry } of certificatesOf(socket.message)) {
      if (!(expiry < before)) continue;
      const key = `${side} ${certificate.fingerprint256}`;
      const entry = found.get(key) ?? { subject: subjectOf(certificate), side, expiry, sockets: [] };
      found.set(key, entry);
      entry.sockets.push(socket);
    }
  }
  return [...found.values()].sort((a, b) => a.expiry.getTime() - b.expiry.getTime());
}

const socketsPerOwner = 3;
const maxDetails = 300;

/**
 * Reads some sockets with their certificates: a few per owner, because the sockets of an owner have the same ones, and reading all
 * would disturb a busy process.
 */
export async function readDetails(
  snapshot: Snapshot,
  sources: ReadonlyMap<string, Source>,
  signal: AbortSignal,
): Promise<SnapshotObject[]> {
  const chosen = [...snapshot.objects.values()]
    .filter(({ kind }) => kind !== "socket")
    .flatMap(({ children }) =>
      children
        .flatMap((key) => snapshot.objects.get(key) ?? [])
        .filter(
          ({ kind, message, unreadable }) => kind === "socket" && message !== undefined && unreadable === undefined,
        )
        .slice(-socketsPerOwner),
    )
    .slice(0, maxDetails);
  const read = async (object: SnapshotObject): Promise<SnapshotObject | undefined> => {
    if (signal.aborted || object.kind !== "socket") return undefined;
    // It may have closed since, and its certificates are not worth an error.
    const response = await sources
      .get(object.origin)
      ?.getSocket(object.id, { signal })
      .catch(() => undefined);
    return response?.socket && { ...object, message: response.socket };
  };
  const details: SnapshotObject[] = [];
  for await (const detail of mapBounded(chosen, 16, read)) if (detail !== undefined) details.push(detail);
  return details;
}
