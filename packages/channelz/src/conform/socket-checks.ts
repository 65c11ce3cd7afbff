import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { openStreams } from "../corrected/lost-cancels.js";
import { hasUnsetTime, isUnsetTime } from "../corrected/unset-times.js";
import type { SocketData } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { checkCounter, checkEnded } from "./counter-rules.js";
import type { Observations, ObservedOwnSocket } from "./observations.js";
import { dataOf, nameOf, type ReadSocket, socketsOf } from "./read-sockets.js";
import { type Check, type CheckResult, check, checkEach, failed, notApplicable, passed } from "./result.js";

const specified = check("specification");
const recommended = check("recommendation");

const lacksTime = (time: Timestamp | undefined): boolean => time === undefined || isUnsetTime(time);

/** Checks a rule on our own connection, of which we know all requests. */
function checkOwn(
  seen: Observations,
  violation: (own: ObservedOwnSocket, data: SocketData) => string | undefined,
): CheckResult {
  const { own } = seen;
  if (own?.socket.data === undefined) return notApplicable("our own connection is not among its sockets");
  const broken = violation(own, own.socket.data);
  const name = `socket ${own.socket.ref?.socketId ?? 0n}, our own connection`;
  return broken === undefined ? passed(`${name}, ${own.requests} requests`) : failed([`${name}: ${broken}`]);
}

/** Both results, the worse first; not applicable only if both are. */
function both(...results: readonly CheckResult[]): CheckResult {
  return (
    results.find(({ outcome }) => outcome === "failed") ??
    results.find(({ outcome }) => outcome === "passed") ??
    results[0] ??
    notApplicable("")
  );
}

function checkLocal({ second: { local }, role }: ReadSocket): string | undefined {
  if (local === undefined) return "no local address";
  const { address } = local;
  const isUnbound = role === "listen" && address.case === "tcpipAddress" && address.value.port === 0;
  return isUnbound ? "port 0, which is not the port that it is bound to" : undefined;
}

/** Whether a counter of our own connection has the expected value, give or take the call in progress. */
function isAbout(counter: bigint, lowest: number, highest: number): boolean {
  return counter >= BigInt(lowest) && counter <= BigInt(highest);
}

/** Rules for sockets and their counters, times and windows. */
export const socketChecks: readonly Check[] = [
  specified("CZ-SOCKET-1", "a socket carries its ref, its data and its local address", (seen) =>
    checkEach(socketsOf(seen), "sockets", (socket) => {
      const { ref, data } = socket.second;
      const lacks = [ref === undefined ? "no ref" : [], data === undefined ? "no data" : [], checkLocal(socket) ?? []];
      return lacks.flat().map((what) => `${nameOf(socket)} has ${what}`);
    }),
  ),
  specified("CZ-SOCKET-2", "a socket that listens has no remote address", (seen) =>
    checkEach(
      socketsOf(seen).filter(({ role }) => role === "listen"),
      "listening sockets",
      (socket) => (socket.second.remote === undefined ? undefined : `${nameOf(socket)} has a remote address`),
    ),
  ),
  specified("CZ-SOCKET-3", "security is absent, or says what it is", (seen) =>
    checkEach(socketsOf(seen), "sockets", (socket) =>
      socket.second.security !== undefined && socket.second.security.model.case === undefined
        ? `${nameOf(socket)} has security of no kind`
        : undefined,
    ),
  ),
  specified("CZ-SOCKET-5", "streams_started counts every stream", (seen) =>
    both(
      checkOwn(seen, ({ requests }, { streamsStarted }) =>
        isAbout(streamsStarted, requests, requests + 1)
          ? undefined
          : `streams_started is ${streamsStarted}, and we began ${requests + 1}`,
      ),
      checkEach(dataOf(seen), "sockets", (each) => checkCounter(each, "streamsStarted", "streams_started")),
    ),
  ),
  specified("CZ-SOCKET-6", "streams_succeeded counts the streams that ended regularly", (seen) =>
    both(
      checkOwn(seen, ({ requests }, { streamsSucceeded }) =>
        isAbout(streamsSucceeded, requests - 1, requests + 1)
          ? undefined
          : `streams_succeeded is ${streamsSucceeded}, and ${requests} of our streams ended regularly`,
      ),
      checkEach(dataOf(seen), "sockets", (each) => [
        ...checkCounter(each, "streamsSucceeded", "streams_succeeded"),
        ...checkEnded(each, ["streamsSucceeded"], "streamsStarted", "streams"),
      ]),
    ),
  ),
  specified("CZ-SOCKET-7", "streams_failed counts the streams that did not end regularly, cancelled ones too", (seen) =>
    both(
      checkOwn(seen, (_, { streamsFailed }) =>
        streamsFailed === 0n ? undefined : `streams_failed is ${streamsFailed}, and none of our streams failed`,
      ),
      seen.lostStreams.length === 0
        ? notApplicable("")
        : failed(
            seen.lostStreams.map(
              ({ socket, parent, calls }) =>
                `socket ${socket.ref?.socketId ?? 0n} shows ${openStreams(socket)} open streams, and ${parent.kind} ` +
                `${parent.id} has none of its ${calls} calls in progress`,
            ),
          ),
      checkEach(dataOf(seen), "sockets", (each) => [
        ...checkCounter(each, "streamsFailed", "streams_failed"),
        ...checkEnded(each, ["streamsSucceeded", "streamsFailed"], "streamsStarted", "streams"),
      ]),
    ),
  ),
  specified("CZ-SOCKET-8", "messages_sent and messages_received count messages", (seen) =>
    both(
      checkOwn(seen, ({ requests }, { messagesReceived, messagesSent }) => {
        if (!isAbout(messagesReceived, requests, requests + 1)) {
          return `messages_received is ${messagesReceived}, and we sent ${requests + 1}`;
        }
        return messagesSent <= BigInt(requests) + 1n ? undefined : `messages_sent is ${messagesSent}`;
      }),
      checkEach(dataOf(seen), "sockets", (each) => [
        ...checkCounter(each, "messagesSent", "messages_sent"),
        ...checkCounter(each, "messagesReceived", "messages_received"),
      ]),
    ),
  ),
  specified("CZ-SOCKET-9", "keep_alives_sent only grows", (seen) =>
    checkEach(dataOf(seen), "sockets", (each) => checkCounter(each, "keepAlivesSent", "keep_alives_sent")),
  ),
  specified("CZ-SOCKET-10", "the client's end of a connection has the time of its last stream", (seen) =>
    checkEach(
      dataOf(seen).filter(({ role, second }) => role === "client" && second.streamsStarted > 0n),
      "client sockets with streams",
      ({ name, second }) =>
        lacksTime(second.lastLocalStreamCreatedTimestamp)
          ? `${name} lacks last_local_stream_created_timestamp`
          : undefined,
    ),
  ),
  specified("CZ-SOCKET-11", "the server's end of a connection has the time of its last stream", (seen) =>
    checkEach(
      dataOf(seen).filter(({ role, second }) => role === "server" && second.streamsStarted > 0n),
      "server sockets with streams",
      ({ name, second }) =>
        lacksTime(second.lastRemoteStreamCreatedTimestamp)
          ? `${name} lacks last_remote_stream_created_timestamp`
          : undefined,
    ),
  ),
  specified("CZ-SOCKET-12", "a socket with messages has the time of the last one in each direction", (seen) =>
    checkEach(
      dataOf(seen).filter(({ second }) => second.messagesSent + second.messagesReceived > 0n),
      "sockets with messages",
      ({ name, second }) => {
        if (second.messagesSent > 0n && lacksTime(second.lastMessageSentTimestamp)) {
          return `${name} lacks last_message_sent_timestamp`;
        }
        return second.messagesReceived > 0n && lacksTime(second.lastMessageReceivedTimestamp)
          ? `${name} lacks last_message_received_timestamp`
          : undefined;
      },
    ),
  ),
  specified("CZ-SOCKET-13", "local_flow_control_window is what the remote endpoint granted", (seen) =>
    checkWindow(seen),
  ),
  specified("CZ-SOCKET-14", "remote_flow_control_window is what the local endpoint granted", (seen) =>
    checkWindow(seen),
  ),
  specified("CZ-SOCKET-15", "a window that does not exist is not reported as 0", (seen) =>
    checkEach(
      dataOf(seen).filter(({ role }) => role === "listen"),
      "listening sockets",
      ({ name, second: { localFlowControlWindow: local, remoteFlowControlWindow: remote } }) =>
        local === undefined && remote === undefined ? undefined : `${name} reports windows`,
    ),
  ),
  recommended("CZ-D-TIME-1", "a time that was never set is absent", (seen) =>
    checkEach(
      [...seen.channels, ...seen.subchannels, ...seen.serverObjects, ...seen.sockets].filter(({ second }) => second),
      "objects",
      ({ kind, id, second }) =>
        second !== undefined && hasUnsetTime(second) ? `${kind} ${id} has a time before 2015` : undefined,
    ),
  ),
];

function checkWindow(seen: Observations): CheckResult {
  if (seen.own !== undefined && seen.own.windowOrder === "unknown") {
    return notApplicable("it does not report the windows of our own connection");
  }
  return checkOwn(seen, ({ windowOrder }, { localFlowControlWindow: local, remoteFlowControlWindow: remote }) =>
    windowOrder === "swapped"
      ? `it reports the window that we granted (${remote}) as its remote window, and ${local ?? "none"} as its local one`
      : undefined,
  );
}
