import { isUnsetTime } from "../corrected/unset-times.js";
import type { Channel, ChannelData, ChannelTrace, ServerData, Subchannel } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { checkCounter, checkEnded } from "./counter-rules.js";
import type { Observations } from "./observations.js";
import { type Check, type CheckResult, check, checkEach } from "./result.js";

const specified = check("specification");

interface Seen<T> {
  readonly name: string;
  readonly first: T | undefined;
  readonly second: T;
}

function read<T>(
  objects: readonly {
    readonly kind: string;
    readonly id: bigint;
    readonly first?: T | undefined;
    readonly second?: T | undefined;
  }[],
): Seen<T>[] {
  return objects.flatMap(({ kind, id, first, second }) =>
    second === undefined ? [] : [{ name: `${kind} ${id}`, first, second }],
  );
}

const channelsOf = (seen: Observations): Seen<Channel | Subchannel>[] => [
  ...read(seen.channels),
  ...read(seen.subchannels),
];

/** The data of channels and subchannels, from two reads. */
const dataOf = (seen: Observations): Seen<ChannelData>[] => withData(channelsOf(seen));
const serverDataOf = (seen: Observations): Seen<ServerData>[] => withData(read(seen.serverObjects));

function withData<D>(objects: readonly Seen<{ readonly data?: D | undefined }>[]): Seen<D>[] {
  return objects.flatMap(({ name, first, second: { data } }) =>
    data === undefined ? [] : [{ name, first: first?.data, second: data }],
  );
}

const tracesOf = (seen: Observations): { name: string; trace: ChannelTrace }[] =>
  [...dataOf(seen), ...serverDataOf(seen)].flatMap(({ name, second: { trace } }) =>
    trace === undefined ? [] : [{ name, trace }],
  );

function checkCarriesData(objects: readonly Seen<Channel | Subchannel>[], what: string): CheckResult {
  return checkEach(objects, what, ({ name, second }) => {
    if (second.ref === undefined) return `${name} has no ref`;
    return second.data === undefined ? `${name} has no data` : undefined;
  });
}

function checkChildren(objects: readonly Seen<Channel | Subchannel>[], what: string): CheckResult {
  return checkEach(objects, what, ({ name, second: { channelRef, subchannelRef, socketRef } }) =>
    socketRef.length > 0 && channelRef.length + subchannelRef.length > 0
      ? `${name} has ${socketRef.length} sockets and ${channelRef.length + subchannelRef.length} channels or subchannels`
      : undefined,
  );
}

/** Follows refs from each object; an object that is reached from itself is on a cycle. */
function checkCycles(seen: Observations): CheckResult {
  const below = new Map<string, string[]>();
  for (const { name, second } of channelsOf(seen)) {
    below.set(name, [
      ...second.channelRef.map(({ channelId }) => `channel ${channelId}`),
      ...second.subchannelRef.map(({ subchannelId }) => `subchannel ${subchannelId}`),
    ]);
  }
  return checkEach([...below.keys()], "channels and subchannels", (start) => {
    const reached = new Set<string>();
    const waiting = [...(below.get(start) ?? [])];
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      if (name === start) return `${start} is below itself`;
      if (reached.has(name)) continue;
      reached.add(name);
      waiting.push(...(below.get(name) ?? []));
    }
    return undefined;
  });
}

function checkLastCall(objects: readonly Seen<ChannelData | ServerData>[], what: string): CheckResult {
  const used = objects.filter(({ second }) => second.callsStarted > 0n);
  return checkEach(used, what, ({ name, second: { callsStarted, lastCallStartedTimestamp: time } }) => {
    if (time === undefined) return `${name} started ${callsStarted} calls, and the time of the last is absent`;
    return isUnsetTime(time) ? `${name} started ${callsStarted} calls, and the last at ${time.seconds} s` : undefined;
  });
}

/** Rules for channels, subchannels, servers and traces. */
export const channelChecks: readonly Check[] = [
  specified("CZ-CHANNEL-1", "a channel carries its ref and its data", ({ channels }) =>
    checkCarriesData(read<Channel | Subchannel>(channels), "channels"),
  ),
  specified("CZ-CHANNEL-2", "a channel has channels and subchannels, or sockets, never both", ({ channels }) =>
    checkChildren(read<Channel | Subchannel>(channels), "channels"),
  ),
  specified("CZ-CHANNEL-4", "the graph of refs has no cycles", checkCycles),
  specified("CZ-SUBCHANNEL-1", "a subchannel carries its ref and its data", ({ subchannels }) =>
    checkCarriesData(read<Channel | Subchannel>(subchannels), "subchannels"),
  ),
  specified("CZ-SUBCHANNEL-2", "a subchannel has one kind of children", ({ subchannels }) =>
    checkChildren(read<Channel | Subchannel>(subchannels), "subchannels"),
  ),
  specified("CZ-STATE-1", "a channel or subchannel has one of the six states", (seen) =>
    checkEach(dataOf(seen), "channels and subchannels", ({ name, second: { state } }) => {
      if (state === undefined) return `${name} has no state`;
      return state.state >= 0 && state.state <= 5 ? undefined : `${name} has the state ${state.state}`;
    }),
  ),
  specified("CZ-DATA-1", "the target of a channel does not change", (seen) =>
    checkEach(dataOf(seen), "channels and subchannels", ({ name, first, second: { target } }) =>
      first === undefined || first.target === target
        ? undefined
        : `the target of ${name} changed from "${first.target}" to "${target}"`,
    ),
  ),
  specified("CZ-DATA-3", "calls_started only grows", (seen) =>
    checkEach(dataOf(seen), "channels and subchannels", (each) => checkCounter(each, "callsStarted", "calls_started")),
  ),
  specified("CZ-DATA-4", "calls_succeeded counts calls that were started", (seen) =>
    checkEach(dataOf(seen), "channels and subchannels", (each) => [
      ...checkCounter(each, "callsSucceeded", "calls_succeeded"),
      ...checkEnded(each, ["callsSucceeded"], "callsStarted", "calls"),
    ]),
  ),
  specified("CZ-DATA-5", "calls_failed counts calls that were started and did not succeed", (seen) =>
    checkEach(dataOf(seen), "channels and subchannels", (each) => [
      ...checkCounter(each, "callsFailed", "calls_failed"),
      ...checkEnded(each, ["callsSucceeded", "callsFailed"], "callsStarted", "calls"),
    ]),
  ),
  specified("CZ-DATA-6", "a channel with calls has the time of the last", (seen) =>
    checkLastCall(dataOf(seen), "channels and subchannels with calls"),
  ),
  specified("CZ-TRACE-1", "num_events_logged counts every event", (seen) =>
    checkEach(tracesOf(seen), "traces", ({ name, trace: { numEventsLogged, events } }) =>
      numEventsLogged < BigInt(events.length)
        ? `the trace of ${name} has ${events.length} events, and num_events_logged is ${numEventsLogged}`
        : undefined,
    ),
  ),
  specified("CZ-TRACE-2", "a trace has the time at which its object was created", (seen) =>
    checkEach(tracesOf(seen), "traces", ({ name, trace: { creationTimestamp: time } }) =>
      time === undefined || isUnsetTime(time) ? `the trace of ${name} has no creation_timestamp` : undefined,
    ),
  ),
  specified("CZ-TRACE-3", "an event has a description, a severity and a time", (seen) =>
    checkEach(
      tracesOf(seen).flatMap(({ name, trace }) => trace.events.map((event) => ({ name, event }))),
      "events",
      ({ name, event: { description, severity, timestamp } }) => {
        if (description === "") return `an event of ${name} has no description`;
        if (timestamp === undefined || isUnsetTime(timestamp)) return `an event of ${name} has no time`;
        return severity >= 0 && severity <= 3 ? undefined : `an event of ${name} has the severity ${severity}`;
      },
    ),
  ),
  specified("CZ-SERVER-1", "a server carries its ref", ({ serverObjects }) =>
    checkEach(read(serverObjects), "servers", ({ name, second }) =>
      second.ref === undefined ? `${name} has no ref` : undefined,
    ),
  ),
  specified("CZ-SERVER-2", "the sockets that a server listens on can be looked up", ({ sockets }) =>
    checkEach(
      sockets.filter(({ role }) => role === "listen"),
      "listening sockets",
      ({ id, ownerId, isMissing, failure }) =>
        isMissing || failure !== undefined
          ? `socket ${id}, on which server ${ownerId} listens: ${failure?.message ?? "NOT_FOUND"}`
          : undefined,
    ),
  ),
  specified("CZ-SERVER-3", "the counters of a server agree with each other", (seen) =>
    checkEach(serverDataOf(seen), "servers", (each) => [
      ...checkCounter(each, "callsStarted", "calls_started"),
      ...checkCounter(each, "callsSucceeded", "calls_succeeded"),
      ...checkCounter(each, "callsFailed", "calls_failed"),
      ...checkEnded(each, ["callsSucceeded", "callsFailed"], "callsStarted", "calls"),
    ]),
  ),
  specified("CZ-SERVER-4", "a server with calls has the time of the last", (seen) =>
    checkLastCall(serverDataOf(seen), "servers with calls"),
  ),
];
