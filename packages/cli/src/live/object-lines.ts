import { formatAddress, printableText, timeOf } from "@wirescope/channelz/internal/text";
import { inFlight, type SnapshotObject } from "@wirescope/channelz/timeline";
import { wrap } from "../output/text-layout.js";

/** An object in a few lines: its state and counters, the addresses of a socket, and the end of its trace. Text from a peer is escaped. */
export function objectLines(object: SnapshotObject, width: number, maxLines: number): string[] {
  const { kind, id, state, target, unreadable, counters } = object;
  const facts = [
    `${kind} ${id}`,
    state,
    target,
    `started ${counters.started}, succeeded ${counters.succeeded}, failed ${counters.failed}, in flight ${inFlight(counters)}`,
  ];
  const addresses =
    object.kind === "socket" && object.message !== undefined
      ? [`${formatAddress(object.message.local)} → ${formatAddress(object.message.remote)}`]
      : [];
  const lines = [
    facts.filter((fact) => fact !== undefined && fact !== "").join(" · "),
    ...addresses,
    ...(unreadable === undefined ? [] : [`unreadable: ${unreadable}`]),
  ];
  const events = object.kind === "socket" ? [] : (object.message?.data?.trace?.events ?? []);
  const trace = events.map(
    ({ timestamp, description }) => `${timeOf(timestamp)?.toISOString().slice(11, 23) ?? ""}  ${description}`,
  );
  const wrapped = (line: string): string[] => wrap(printableText(line), width, "");
  const head = lines.flatMap(wrapped).slice(0, maxLines);
  const room = maxLines - head.length;
  return room === 0 ? head : [...head, ...trace.flatMap(wrapped).slice(-room)];
}
