import { fromBinary } from "@bufbuild/protobuf";
import type { Any, Duration } from "@bufbuild/protobuf/wkt";
import {
  type SocketOption,
  SocketOptionLingerSchema,
  type SocketOptionTcpInfo,
  SocketOptionTcpInfoSchema,
  SocketOptionTimeoutSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";

/** A name and a value, which may contain text of a peer. */
type OptionField = readonly [name: string, value: string];

// From Linux's tcp_states.h.
const tcpStates: readonly string[] = [
  "",
  "ESTABLISHED",
  "SYN_SENT",
  "SYN_RECV",
  "FIN_WAIT1",
  "FIN_WAIT2",
  "TIME_WAIT",
  "CLOSE",
  "CLOSE_WAIT",
  "LAST_ACK",
  "LISTEN",
  "CLOSING",
  "NEW_SYN_RECV",
];
const congestionStates: readonly string[] = ["Open", "Disorder", "CWR", "Recovery", "Loss"];

const microseconds = new Set(["tcpi_rto", "tcpi_ato", "tcpi_rtt", "tcpi_rttvar"]);
const milliseconds = new Set([
  "tcpi_last_data_sent",
  "tcpi_last_ack_sent",
  "tcpi_last_data_recv",
  "tcpi_last_ack_recv",
]);

/** An option as lines: its value, and the fields of its payload, in either package. */
export function optionFields(option: SocketOption): OptionField[] {
  const payload = option.additional;
  const type = payload?.typeUrl.slice(payload.typeUrl.lastIndexOf(".") + 1) ?? "";
  try {
    if (payload !== undefined && type === "SocketOptionTcpInfo") {
      return [[option.name, option.value], ...tcpInfoFields(fromBinary(SocketOptionTcpInfoSchema, payload.value))];
    }
    return [[option.name, [option.value, describePayload(type, payload)].filter(Boolean).join("  ")]];
  } catch {
    return [[option.name, `${option.value}  (${type}: unreadable bytes)`.trimStart()]];
  }
}

function describePayload(type: string, payload: Any | undefined): string {
  if (payload === undefined) return "";
  if (type === "SocketOptionTimeout") {
    return `timeout ${formatDuration(fromBinary(SocketOptionTimeoutSchema, payload.value).duration)}`;
  }
  if (type === "SocketOptionLinger") {
    const { active, duration } = fromBinary(SocketOptionLingerSchema, payload.value);
    return active ? `linger ${formatDuration(duration)}` : "linger off";
  }
  return `(${payload.typeUrl}, ${payload.value.length} bytes)`;
}

function tcpInfoFields(info: SocketOptionTcpInfo): OptionField[] {
  return SocketOptionTcpInfoSchema.fields.map(({ name, localName }) => {
    const value = Number(info[localName as keyof SocketOptionTcpInfo]);
    return [`  ${name}`, describeTcpInfo(name, value)];
  });
}

function describeTcpInfo(name: string, value: number): string {
  if (name === "tcpi_state") return `${value} ${tcpStates[value] ?? ""}`.trimEnd();
  if (name === "tcpi_ca_state") return `${value} ${congestionStates[value] ?? ""}`.trimEnd();
  if (microseconds.has(name)) return `${value} µs`;
  if (milliseconds.has(name)) return `${value} ms`;
  return String(value);
}

function formatDuration(duration: Duration | undefined): string {
  const ms = Number(duration?.seconds ?? 0n) * 1000 + (duration?.nanos ?? 0) / 1_000_000;
  return ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`;
}
