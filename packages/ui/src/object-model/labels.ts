import { formatAddress, printableText } from "@wirescope/channelz/internal/text";
import type { Counters, SnapshotObject } from "@wirescope/channelz/timeline";
import { type Tone, toneOfState, wordOfState } from "../design/state-mark.js";

/** What a socket is for: its server listens on it or accepted it, or a channel opened it. */
export type SocketRole = "listen" | "server" | "client";

/** The state of an object, as a colour and a word. */
export interface ObjectState {
  readonly tone: Tone;
  readonly word: string;
  /** Whether it needs attention. */
  readonly isProblem: boolean;
}

/** Names come from peers and may be of any length. */
const maxTitleLength = 120;

/** The kind and id: `channel 12`. */
export function objectLabel({ kind, id }: Pick<SnapshotObject, "kind" | "id">): string {
  return `${kind} ${id}`;
}

/** The title of an object: its name, target or address, else its kind and id. */
export function objectTitle(object: SnapshotObject, role?: SocketRole): string {
  const text = object.kind === "socket" ? socketTitle(object, role) : object.name || object.target || "";
  return text === "" ? objectLabel(object) : printableText(text, maxTitleLength);
}

/** A title for narrow places: an address without its usual prefix, or the last path segment of a command. */
export function shortTitle(title: string): string {
  const command = /^stdio:.*?([^/\\\s]+)$/s.exec(title)?.[1];
  return command ?? title.replace(/^(https?:\/\/|dns:\/\/\/|unix:(?=\/))/, "");
}

function socketTitle({ message, name }: SnapshotObject & { readonly kind: "socket" }, role?: SocketRole): string {
  const local = formatAddress(message?.local);
  const remote = formatAddress(message?.remote);
  if (role === "listen") return local === "-" ? name : local;
  if (role === "server" && message?.remoteName) return message.remoteName;
  // Otherwise only the remote address distinguishes accepted connections.
  const [first, second] = role === "server" ? [remote, local] : [local, remote];
  return [first, second].find((each) => each !== "-") ?? name;
}

/** The state of an object. Channels have one in Channelz; for others it is derived from traffic and whether they could be read. */
export function objectState(object: SnapshotObject, rates?: Counters, role?: SocketRole): ObjectState {
  if (object.unreadable !== undefined) return { tone: "failing", word: "unreadable", isProblem: true };
  if (object.state !== undefined) {
    const tone = toneOfState(object.state);
    return { tone, word: wordOfState(object.state), isProblem: tone === "failing" };
  }
  if (role === "listen") return { tone: "ready", word: "listening", isProblem: false };
  if (rates !== undefined && rates.failed > 0) return { tone: "failing", word: "failing", isProblem: true };
  if (trafficOf(object, rates) > 0) return { tone: "ready", word: "active", isProblem: false };
  return { tone: "idle", word: "idle", isProblem: false };
}

/** Calls per second, or messages per second of a socket. */
export function trafficOf({ kind }: Pick<SnapshotObject, "kind">, rates: Counters | undefined): number {
  if (rates === undefined) return 0;
  // Some peers count the streams of a socket but not its messages.
  return kind === "socket" ? Math.max(rates.messagesSent + rates.messagesReceived, rates.started) : rates.started;
}

/** A rate as it is shown: `12.4 calls/s`; empty if it is 0. */
export function rateText(perSecond: number, unit: string): string {
  if (!(perSecond > 0)) return "";
  return `${formatRate(perSecond)} ${unit}/s`;
}

/** A rate with a sensible number of digits. */
export function formatRate(perSecond: number): string {
  if (perSecond === 0) return "0";
  if (perSecond < 0.1) return "<0.1";
  if (perSecond < 10) return perSecond.toFixed(1);
  if (perSecond < 10_000) return Math.round(perSecond).toLocaleString("en");
  return new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(perSecond);
}

/** `1 call`, `1,204 calls`. */
export function countOf(count: number, singular: string): string {
  return `${count.toLocaleString("en")} ${singular}${count === 1 ? "" : "s"}`;
}
