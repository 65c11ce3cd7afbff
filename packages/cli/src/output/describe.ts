import type {
  Channel,
  ChannelData,
  ChannelTrace,
  Server,
  ServerData,
  Socket,
  SocketRef,
  Subchannel,
} from "@wirescope/channelz";
import { ChannelTraceEvent_Severity as Severity } from "@wirescope/channelz/client";
import { printableText } from "@wirescope/channelz/internal";
import { formatAddress } from "./address.js";
import type { Paint, Screen } from "./screen.js";
import { optionFields, securityFields } from "./socket-details.js";
import { stateName, statePaint } from "./state.js";
import { type Field, renderFields } from "./table.js";
import { formatRelative, formatTime, timeOf } from "./time.js";

/** All about a channel or a subchannel. */
export function channelLines(object: Channel | Subchannel, screen: Screen): string[] {
  const { data } = object;
  const title =
    object.$typeName === "rpc.channelz.v1.Channel"
      ? heading("channel", object.ref?.channelId, object.ref?.name, screen)
      : heading("subchannel", object.ref?.subchannelId, object.ref?.name, screen);
  const fields: Field[] = [
    ["state", stateName(data), statePaint(data, screen.palette)],
    ["target", data?.target || "-"],
    ...callFields(data, screen),
    ...refFields("channels", object.channelRef, (ref) => ref.channelId),
    ...refFields("subchannels", object.subchannelRef, (ref) => ref.subchannelId),
    ...socketRefFields("sockets", object.socketRef),
  ];
  return [title, ...renderFields(fields, screen), ...renderTrace(data?.trace, screen)];
}

/** All about a server. */
export function serverLines(server: Server, screen: Screen): string[] {
  const fields = [...callFields(server.data, screen), ...socketRefFields("listens on", server.listenSocket)];
  return [
    heading("server", server.ref?.serverId, server.ref?.name, screen),
    ...renderFields(fields, screen),
    ...renderTrace(server.data?.trace, screen),
  ];
}

/** All about a socket. */
export function socketLines(socket: Socket, screen: Screen): string[] {
  const { data } = socket;
  const time = (timestamp: Parameters<typeof timeOf>[0]): string => formatTime(timeOf(timestamp), screen.now);
  const fields: Field[] = [
    ["local", formatAddress(socket.local)],
    ["remote", formatAddress(socket.remote)],
    ...(socket.remoteName === "" ? [] : ([["remote name", socket.remoteName]] as const)),
    ...securityFields(socket.security, screen),
    ["streams", countText(data?.streamsStarted, data?.streamsSucceeded, data?.streamsFailed)],
    ["messages", `${data?.messagesSent ?? 0n} sent, ${data?.messagesReceived ?? 0n} received`],
    ["keep-alives sent", String(data?.keepAlivesSent ?? 0n)],
    ["last local stream", time(data?.lastLocalStreamCreatedTimestamp)],
    ["last remote stream", time(data?.lastRemoteStreamCreatedTimestamp)],
    ["last message sent", time(data?.lastMessageSentTimestamp)],
    ["last message received", time(data?.lastMessageReceivedTimestamp)],
    ["local window", windowText(data?.localFlowControlWindow)],
    ["remote window", windowText(data?.remoteFlowControlWindow)],
  ];
  const options = (data?.option ?? []).flatMap(optionFields);
  return [
    heading("socket", socket.ref?.socketId, socket.ref?.name, screen),
    ...renderFields(fields, screen),
    ...(options.length === 0
      ? []
      : [`  ${screen.palette.strong("options")}`, ...renderFields(options, screen, "    ")]),
  ];
}

/** Counts in words: `3 started, 2 succeeded, 1 failed`. */
function countText(started = 0n, succeeded = 0n, failed = 0n): string {
  return `${started} started, ${succeeded} succeeded, ${failed} failed`;
}

function heading(kind: string, id: bigint | undefined, name: string | undefined, { palette }: Screen): string {
  return `${palette.strong(`${kind} ${id ?? 0n}`)}${name ? `  ${printableText(name)}` : ""}`;
}

function callFields(data: ChannelData | ServerData | undefined, screen: Screen): Field[] {
  const { palette, now } = screen;
  return [
    [
      "calls",
      countText(data?.callsStarted, data?.callsSucceeded, data?.callsFailed),
      data?.callsFailed ? palette.bad : palette.plain,
    ],
    ["last call", formatTime(timeOf(data?.lastCallStartedTimestamp), now)],
  ];
}

function windowText(window: bigint | undefined): string {
  return window === undefined ? "unknown" : `${window} bytes`;
}

function refFields<T extends { name: string }>(title: string, refs: readonly T[], idOf: (ref: T) => bigint): Field[] {
  if (refs.length === 0) return [];
  return [[title, refs.map((ref) => (ref.name === "" ? `${idOf(ref)}` : `${idOf(ref)} (${ref.name})`)).join(", ")]];
}

function socketRefFields(title: string, refs: readonly SocketRef[]): Field[] {
  return refFields(title, refs, (ref) => ref.socketId);
}

/** The lines of a trace: when the object was created, and its events with the time, the severity and the child they are about. */
function renderTrace(trace: ChannelTrace | undefined, screen: Screen): string[] {
  if (trace === undefined) return [];
  const { palette, now } = screen;
  const { events, numEventsLogged } = trace;
  const kept = numEventsLogged > BigInt(events.length) ? `, the last ${events.length} kept` : "";
  const marks: Readonly<Record<number, readonly [mark: string, paint: Paint]>> = {
    [Severity.CT_INFO]: ["info", palette.plain],
    [Severity.CT_WARNING]: ["warning", palette.warning],
    [Severity.CT_ERROR]: ["error", palette.bad],
  };
  const lines = events.map((event) => {
    const [mark, paint] = marks[event.severity] ?? ["unknown", palette.faint];
    const time = timeOf(event.timestamp);
    return [
      `    ${formatRelative(time, now).padEnd(10)}`,
      palette.faint((time?.toISOString() ?? "").padEnd(24)),
      paint(mark.padEnd(7)),
      printableText(event.description) + palette.faint(childOf(event.childRef)),
    ].join("  ");
  });
  return [
    `  ${palette.strong("trace")}  ${numEventsLogged} events${kept}; created ${formatTime(timeOf(trace.creationTimestamp), now)}`,
    ...lines,
  ];
}

function childOf(child: ChannelTrace["events"][number]["childRef"]): string {
  switch (child.case) {
    case "channelRef":
      return `  → channel ${child.value.channelId}`;
    case "subchannelRef":
      return `  → subchannel ${child.value.subchannelId}`;
    default:
      return "";
  }
}
