import type { SocketOption } from "@wirescope/channelz/client";
import { optionFields } from "@wirescope/channelz/internal/socket-options";
import { printableText } from "@wirescope/channelz/internal/text";

/** A socket option and its meaning. */
export interface OptionRow {
  /** As the peer named it: `TCP_NODELAY`. */
  readonly name: string;
  readonly value: string;
  /** What it means; empty for options that this page does not know. */
  readonly meaning: string;
}

/** The options of a socket, and the kernel's information about its connection. */
export interface DescribedOptions {
  readonly options: readonly OptionRow[];
  readonly tcpInfo: readonly OptionRow[];
}

const maxOptions = 200;

/** Describes the options of a socket. */
export function describeOptions(options: readonly SocketOption[]): DescribedOptions {
  const rows = options.slice(0, maxOptions).flatMap((option) => optionFields(option));
  const isInfo = ([name]: readonly [string, string]): boolean => name.startsWith("  tcpi_");
  return {
    options: rows.filter((row) => !isInfo(row) && row[0] !== "TCP_INFO").map(([name, value]) => optionRow(name, value)),
    tcpInfo: rows.filter(isInfo).map(([name, value]) => infoRow(name.trim(), value)),
  };
}

function optionRow(name: string, value: string): OptionRow {
  const [meaning = "", unit] = optionMeanings[name] ?? [];
  const shown = printableText(payloadText(value), 400);
  const isNumber = /^\d+$/.test(shown);
  const text =
    unit === "switch" && isNumber
      ? shown === "0"
        ? "off"
        : "on"
      : unit !== undefined && isNumber
        ? `${grouped(shown)} ${unit}`
        : shown;
  return { name: printableText(name, 80), value: text, meaning };
}

/** Options with a payload contain the value twice: `0 ms  timeout 0 s`, `off  linger off`. */
function payloadText(value: string): string {
  const words = /(?:^| {2})(?:timeout|linger) (.+)$/.exec(value)?.[1];
  if (words === undefined) return value;
  return value.includes("timeout") && words === "0 s" ? "no limit" : words;
}

function infoRow(name: string, value: string): OptionRow {
  const [meaning = "", unit = ""] = tcpInfoMeanings[name] ?? [];
  // The kernel's "no limit".
  if (name === "tcpi_snd_ssthresh" && Number(value) >= 2 ** 31 - 1) return { name, value: "not reached", meaning };
  const [, number, given = unit] = /^(\d+)(?: (.+))?$/.exec(value) ?? [];
  if (number === undefined) return { name, value, meaning };
  if (name === "tcpi_state" || name === "tcpi_ca_state") return { name, value: given || number, meaning };
  if (name === "tcpi_options") return { name, value: optionFlags(Number(number)), meaning };
  if (given === "µs" && Number(number) >= 1000)
    return { name, value: `${grouped(String(Math.round(Number(number) / 100) / 10))} ms`, meaning };
  return { name, value: `${grouped(number)} ${given}`.trimEnd(), meaning };
}

function grouped(number: string): string {
  return Number(number).toLocaleString("en", { maximumFractionDigits: 1 });
}

const flagNames: readonly string[] = ["timestamps", "SACK", "window scale", "ECN", "ECN seen", "SYN data"];

function optionFlags(bits: number): string {
  const set = flagNames.filter((_, bit) => (bits & (1 << bit)) !== 0);
  return set.length === 0 ? "none" : set.join(", ");
}

/** The meaning of an option, and the unit of its number. */
const optionMeanings: Readonly<Record<string, readonly [meaning: string, unit?: string]>> = {
  SO_KEEPALIVE: ["TCP keep-alive probes", "switch"],
  SO_RCVBUF: ["receive buffer", "bytes"],
  SO_SNDBUF: ["send buffer", "bytes"],
  SO_RCVTIMEO: ["time limit for receiving"],
  SO_SNDTIMEO: ["time limit for sending"],
  SO_LINGER: ["wait for unsent data when the socket closes"],
  SO_REUSEADDR: ["bind to an address that was used recently", "switch"],
  SO_REUSEPORT: ["several sockets listen on the same port", "switch"],
  SO_BROADCAST: ["broadcast", "switch"],
  SO_DONTROUTE: ["send to direct neighbours only", "switch"],
  SO_OOBINLINE: ["out-of-band data in the normal stream", "switch"],
  SO_ERROR: ["last error"],
  SO_PRIORITY: ["queueing priority"],
  TCP_NODELAY: ["send small packets at once (no Nagle's algorithm)", "switch"],
  TCP_CORK: ["hold back partial packets", "switch"],
  TCP_QUICKACK: ["acknowledge at once", "switch"],
  TCP_MAXSEG: ["maximum segment size", "bytes"],
  TCP_KEEPIDLE: ["idle time before the first keep-alive probe", "s"],
  TCP_KEEPINTVL: ["time between keep-alive probes", "s"],
  TCP_KEEPCNT: ["lost keep-alive probes before the connection ends"],
  TCP_USER_TIMEOUT: ["time that sent data may stay unacknowledged", "ms"],
  TCP_SYNCNT: ["attempts to connect"],
  TCP_LINGER2: ["time in FIN_WAIT2", "s"],
  TCP_DEFER_ACCEPT: ["accept only when data arrives", "s"],
  TCP_WINDOW_CLAMP: ["maximum receive window", "bytes"],
  TCP_CONGESTION: ["congestion control"],
  TCP_FASTOPEN: ["data in the first packet"],
  IP_TOS: ["type of service"],
  IP_TTL: ["hops before a packet is dropped"],
  IPV6_V6ONLY: ["no IPv4 on this socket", "switch"],
};

const tcpInfoMeanings: Readonly<Record<string, readonly [meaning: string, unit?: string]>> = {
  tcpi_state: ["state"],
  tcpi_ca_state: ["congestion control"],
  tcpi_retransmits: ["retransmissions without progress"],
  tcpi_probes: ["probes without a reply"],
  tcpi_backoff: ["back-off steps"],
  tcpi_options: ["agreed options"],
  tcpi_snd_wscale: ["send window scale"],
  tcpi_rcv_wscale: ["receive window scale"],
  tcpi_rto: ["retransmission timeout"],
  tcpi_ato: ["delayed acknowledgement"],
  tcpi_snd_mss: ["send segment size", "bytes"],
  tcpi_rcv_mss: ["receive segment size", "bytes"],
  tcpi_unacked: ["segments in flight"],
  tcpi_sacked: ["segments acknowledged selectively"],
  tcpi_lost: ["segments lost"],
  tcpi_retrans: ["segments sent again, in flight"],
  tcpi_fackets: ["segments acknowledged out of order"],
  tcpi_last_data_sent: ["time since data was sent"],
  tcpi_last_ack_sent: ["time since an acknowledgement was sent"],
  tcpi_last_data_recv: ["time since data was received"],
  tcpi_last_ack_recv: ["time since an acknowledgement was received"],
  tcpi_pmtu: ["path MTU", "bytes"],
  tcpi_rcv_ssthresh: ["receive window threshold", "bytes"],
  tcpi_rtt: ["round-trip time"],
  tcpi_rttvar: ["round-trip time variation"],
  tcpi_snd_ssthresh: ["slow-start threshold", "segments"],
  tcpi_snd_cwnd: ["congestion window", "segments"],
  tcpi_advmss: ["advertised segment size", "bytes"],
  tcpi_reordering: ["reordering tolerated", "segments"],
};
