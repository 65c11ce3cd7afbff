import type { Redact, ToolChange } from "@wirescope/tool-server";
import type { Entry } from "@wirescope/tool-server/config";
import type { RpcObject } from "@wirescope/tool-server/internal";
import type { GatewayEvents } from "../events.js";
import type { ConfigurationTrust } from "./gateway-configuration.js";

/** How the tools of a server differ from their first definitions since its approval. */
export interface ToolChanges {
  readonly all: readonly ToolChange[];
  /** Compares the tools that were listed, in the background, and emits an event for each new difference. */
  compare(tools: readonly RpcObject[]): void;
  /** Accepts these differences. */
  accept(changes: readonly ToolChange[]): Promise<void>;
}

export interface ToolChangesOptions {
  readonly entry: Entry;
  readonly trust: ConfigurationTrust | undefined;
  readonly events: Pick<GatewayEvents, "emit">;
  readonly redact: Redact;
}

/** Maximum differences that are reported until all are accepted: a server may change its tools with each list. */
const maxReports = 64;

export function createToolChanges({ entry, trust, events, redact }: ToolChangesOptions): ToolChanges {
  const server = entry.name;
  const reported = new Set<string>();
  let all: readonly ToolChange[] = [];
  let failure: string | undefined;
  let last = Promise.resolve();

  const compare = async (tools: readonly RpcObject[]): Promise<void> => {
    all = (await trust?.compareTools?.(entry, tools, redact)) ?? [];
    failure = undefined;
    for (const { kind: _, ...change } of all) {
      const key = JSON.stringify(change);
      if (reported.has(key) || reported.size >= maxReports) continue;
      reported.add(key);
      events.emit({ kind: "tool-changed", server, ...change });
    }
  };

  return {
    get all() {
      return all;
    },
    compare(tools) {
      last = last
        .then(() => compare(tools))
        .catch((error: unknown) => {
          const reason = error instanceof Error ? error.message : String(error);
          if (reason !== failure) events.emit({ kind: "defect", reason });
          failure = reason;
        });
    },
    async accept(changes) {
      if (changes.length === 0) return;
      await trust?.acceptTools?.(entry, changes);
      all = all.filter((change) => !changes.includes(change));
      reported.clear();
    },
  };
}
