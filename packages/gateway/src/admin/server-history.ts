import { fromBinary, toBinary } from "@bufbuild/protobuf";
import type { GatewayEvents } from "../events.js";
import { type Server, ServerSchema } from "../gen/wirescope/v1/admin_pb.js";
import { type ChangesPace, createChanges } from "./watch-servers.js";

/** The states of the servers in the last 15 minutes. */
export interface ServerHistory {
  /** The servers at a time, and when they had changed last. If the time is too early, the oldest record. */
  at(timeMs: number): { readonly servers: readonly Server[]; readonly timeMs: number };
  close(): void;
}

export interface ServerHistoryOptions {
  readonly read: () => readonly Server[];
  readonly events: Pick<GatewayEvents, "subscribe">;
  readonly now: () => number;
  /** Milliseconds. Default 15 minutes; somewhat more may be kept. */
  readonly maxAgeMs?: number | undefined;
  /** Default 4 MiB. */
  readonly maxBytes?: number | undefined;
}

/** All servers as they are from a time on. Servers that did not change share their bytes with the previous moment. */
interface Moment {
  readonly timeMs: number;
  readonly servers: ReadonlyMap<string, Uint8Array>;
  /** The bytes that it does not share. */
  readonly newBytes: number;
}

const pace: ChangesPace = { collectMs: 100, sweepMs: 10_000 };
/** The memory of a moment in addition to its bytes. */
const momentBytes = 500;

/** Records the servers whenever one of them changes. */
export function createServerHistory(options: ServerHistoryOptions): ServerHistory {
  const { read, events, now, maxAgeMs = 15 * 60_000, maxBytes = 4 * 2 ** 20 } = options;
  let moments: Moment[] = [];
  let bytes = 0;

  const record = (): void => {
    const before = moments.at(-1)?.servers;
    let newBytes = momentBytes;
    let isSame = before !== undefined;
    const servers = new Map<string, Uint8Array>();
    for (const server of read()) {
      const encoded = toBinary(ServerSchema, server);
      const known = before?.get(server.name);
      const isKnown = known !== undefined && Buffer.compare(known, encoded) === 0;
      servers.set(server.name, isKnown ? known : encoded);
      if (isKnown) continue;
      isSame = false;
      newBytes += encoded.length + 100;
    }
    if (isSame && before?.size === servers.size) return;
    const timeMs = now();
    moments.push({ timeMs, servers, newBytes });
    bytes += newBytes;
    // The first moment is needed until the second one is too old as well.
    while (moments.length > 1 && ((moments[1]?.timeMs ?? 0) < timeMs - maxAgeMs || bytes > maxBytes)) {
      bytes -= moments[0]?.newBytes ?? 0;
      moments = moments.slice(1);
    }
  };
  const close = createChanges(events, pace).watch(record);
  record();

  return {
    at(timeMs) {
      const found = moments.findLast((moment) => moment.timeMs <= timeMs) ?? moments[0];
      return {
        servers: [...(found?.servers.values() ?? [])].map((encoded) => fromBinary(ServerSchema, encoded)),
        timeMs: found?.timeMs ?? now(),
      };
    },
    close,
  };
}
