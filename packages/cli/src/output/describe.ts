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
import { correctionsOf } from "@wirescope/channelz/corrected";
import { optionFields } from "@wirescope/channelz/internal/socket-options";
import {
  formatAddress,
  formatRelative,
  formatTime,
  printableText,
  stateName,
  timeOf,
} from "@wirescope/channelz/internal/text";
import type { Paint, Screen } from "./screen.js";
import { securityFields } from "./security.js";
import { statePaint } from "./state.js";
import { type Field, renderFields } from "./table.js";
import { wrapHard } from "./text-layout.js";

/** A peer may send megabytes in an event. `--json` prints them in full. */
const maxTextLength = 10_000;

/** The details of a channel or a subchannel. */
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
  return [
    title,
    ...renderFields(fields, screen),
    ...renderCorrections(object, screen),
    ...renderTrace(data?.trace, screen),
  ];
}

/** The details of a server. */
export function serverLines(server: Server, screen: Screen): string[] {
  const fields = [...callFields(server.data, screen), ...socketRefFields("listens on", server.listenSocket)];
  return [
    heading("server", server.ref?.serverId, server.ref?.name, screen),
    ...renderFields(fields, screen),
    ...renderCorrections(server, screen),
    ...renderTrace(server.data?.trace, screen),
  ];
}

/** The details of a socket. */
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
    ...renderCorrections(socket, screen),
    ...(options.length === 0
      ? []
      : [`  ${screen.palette.strong("options")}`, ...renderFields(options, screen, "    ")]),
  ];
}

/** The corrections of an object, with the values that the peer sent. */
function renderCorrections(object: object, screen: Screen): string[] {
  const applied = correctionsOf(object);
  if (applied.length === 0) return [];
  const fields = applied.map(({ id, detail }): Field => [id, detail]);
  return [`  ${screen.palette.strong("corrected")}`, ...renderFields(fields, screen, "    ")];
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

/** The lines of a trace: when the object was created, and its events with time, severity and child. */
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
  // The exact time leaves too little room for the text in a narrow terminal.
  const isWide = screen.width === undefined || screen.width >= 110;
  const lines = events.flatMap((event) => {
    const [mark, paint] = marks[event.severity] ?? ["unknown", palette.faint];
    const time = timeOf(event.timestamp);
    const lead = [
      [`    ${formatRelative(time, now).padEnd(10)}`, palette.plain],
      ...(isWide ? [[(time?.toISOString() ?? "").padEnd(24), palette.faint] as const] : []),
      [mark.padEnd(7), paint],
    ] as const;
    const indent = lead.reduce((sum, [text]) => sum + text.length + 2, 0);
    const room = screen.width === undefined ? undefined : screen.width - indent;
    const [first = "", ...more] = wrapHard(
      printableText(event.description, maxTextLength) + childOf(event.childRef),
      room,
    );
    return [
      [...lead.map(([text, painted]) => painted(text)), first].join("  "),
      ...more.map((text) => " ".repeat(indent) + text),
    ];
  });
  const created = timeOf(trace.creationTimestamp);
  const age = isWide ? formatTime(created, now) : formatRelative(created, now);
  return [`  ${palette.strong("trace")}  ${numEventsLogged} events${kept}; created ${age}`, ...lines];
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
