import type { ConnectionShortage } from "@wirescope/channelz";
import type { Clock } from "@wirescope/tool-server";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import type { GatewayEvents } from "../events.js";

/** Reports that the listener reached its limit of connections. */
export interface ConnectionShortages {
  /** Logs the first of them, and the next one after a pause. */
  onShortage(shortage: ConnectionShortage): void;
  /** The text of the log, until the pause. */
  current(): string | undefined;
}

/** Milliseconds without a shortage after which it is over. */
const pauseMs = 600_000;

export function createConnectionShortages(
  events: Pick<GatewayEvents, "emit">,
  clock: Pick<Clock, "now">,
): ConnectionShortages {
  let last: { readonly at: number; readonly reason: string } | undefined;
  const current = (): string | undefined =>
    last !== undefined && clock.now() - last.at < pauseMs ? last.reason : undefined;
  return {
    onShortage(shortage) {
      const known = current();
      last = { at: clock.now(), reason: known ?? textOf(shortage) };
      if (known === undefined) events.emit({ kind: "refused", limit: "connections", reason: last.reason });
    },
    current,
  };
}

function textOf({ maxConnections, maxOpenFiles }: ConnectionShortage): string {
  const problem = `The limit of ${maxConnections} connections was reached: those without an open request are closed, and new ones may be refused.`;
  const clients = `Look for clients that open too many: ${commandLine("sockets")}.`;
  if (maxOpenFiles === undefined) return `${problem} ${clients}`;
  const cause = `This process may open ${maxOpenFiles} files, and half of them are for clients.`;
  return `${problem} ${cause} Raise that limit (ulimit -n, or LimitNOFILE in a systemd unit) and start again. ${clients}`;
}
