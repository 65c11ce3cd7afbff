import { X509Certificate } from "node:crypto";
import { fromBinary } from "@bufbuild/protobuf";
import type { Any, Duration } from "@bufbuild/protobuf/wkt";
import type { Security, SocketOption, SocketOptionTcpInfo } from "@wirescope/channelz";
import {
  SocketOptionLingerSchema,
  SocketOptionTcpInfoSchema,
  SocketOptionTimeoutSchema,
} from "@wirescope/channelz/client";
import type { Screen } from "./screen.js";
import type { Field } from "./table.js";
import { formatTime } from "./time.js";

/** One word on the security of a socket: its cipher, its name, or `-`. */
export function securityName(security: Security | undefined): string {
  switch (security?.model.case) {
    case "tls":
      return security.model.value.cipherSuite.value || "TLS";
    case "other":
      return security.model.value.name || "(other)";
    default:
      return "-";
  }
}

/** All that is known about the security of a socket. */
export function securityFields(security: Security | undefined, screen: Screen): Field[] {
  if (security?.model.case === undefined) return [];
  if (security.model.case === "other") return [["security", security.model.value.name || "(other)"]];
  const { localCertificate, remoteCertificate } = security.model.value;
  return [
    ["security", `TLS ${security.model.value.cipherSuite.value ?? ""}`.trimEnd()],
    ...certificateFields("local certificate", localCertificate, screen),
    ...certificateFields("remote certificate", remoteCertificate, screen),
  ];
}

function certificateFields(title: string, bytes: Uint8Array, screen: Screen): Field[] {
  if (bytes.length === 0) return [];
  let certificate: X509Certificate;
  try {
    // DER as it should be, or PEM as some peers send it.
    certificate = new X509Certificate(bytes);
  } catch {
    return [[title, `${bytes.length} bytes that are not a certificate`, screen.palette.bad]];
  }
  const expiry = new Date(certificate.validTo);
  return [
    [title, oneLine(certificate.subject) || certificate.subjectAltName || `serial ${certificate.serialNumber}`],
    ["  issuer", oneLine(certificate.issuer)],
    ["  expires", formatTime(expiry, screen.now), expiry < screen.now ? screen.palette.bad : screen.palette.plain],
  ];
}

function oneLine(name: string | undefined): string {
  return (name ?? "").split("\n").join(", ");
}

// Of Linux's tcp_states.h.
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

/** An option as lines: its value, and what its payload says. Both packages name the same payloads. */
export function optionFields(option: SocketOption): Field[] {
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

function tcpInfoFields(info: SocketOptionTcpInfo): Field[] {
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
