import { create, toBinary } from "@bufbuild/protobuf";
import {
  type Server,
  ServerSchema,
  type WatchServersResponse,
  WatchServersResponseSchema,
} from "../gen/wirescope/v1/admin_pb.js";
import type { Changes } from "./changes.js";

/** First all servers, then what has changed of them, until the signal aborts. */
export async function* watchServers(
  read: () => readonly Server[],
  changes: Pick<Changes, "watch">,
  signal: AbortSignal,
): AsyncGenerator<WatchServersResponse> {
  let wake = (): void => {};
  let isDue = true;
  const stir = (): void => {
    isDue = true;
    wake();
  };
  const stop = changes.watch(stir);
  signal.addEventListener("abort", stir);
  try {
    let before: ReadonlyMap<string, string> | undefined;
    while (!signal.aborted) {
      isDue = false;
      const servers = read();
      const now = new Map(servers.map((server) => [server.name, textOf(server)]));
      const changed = servers.filter(({ name }) => before?.get(name) !== now.get(name));
      const removed = [...(before?.keys() ?? [])].filter((name) => !now.has(name));
      const isFirst = before === undefined;
      before = now;
      if (isFirst || changed.length > 0 || removed.length > 0) {
        yield create(WatchServersResponseSchema, { servers: changed, removed });
      }
      // A change that came while the caller was slow to read is not waited for once more.
      if (!isDue && !signal.aborted) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    signal.removeEventListener("abort", stir);
    stop();
  }
}

function textOf(server: Server): string {
  return Buffer.from(toBinary(ServerSchema, server)).toString("latin1");
}
