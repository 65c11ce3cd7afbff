import type { JsonObject } from "./rpc/json-rpc.js";
import type { LogLevel } from "./rpc/protocol.js";

/** The lists of which clients hear when they change. */
export type NoticedList = "tools" | "prompts" | "resources";

/** A client that hears what no request of its own is about. */
export interface NoticeListener {
  onListChanged?(list: NoticedList): void;
  /** A resource changed, by the uri that its server knows it by. */
  onResourceUpdated?(server: string, uri: string): void;
  onLog?(level: LogLevel, params: JsonObject): void;
  /** A visit to a page that a server asked for came to its end. */
  onVisitCompleted?(elicitationId: string, params: JsonObject): void;
}

/** Tells clients what changed. */
export interface Notices extends Required<NoticeListener> {
  subscribe(listener: NoticeListener): () => void;
  /** Says nothing more. */
  close(): void;
}

/** How long changes of one list are gathered, in milliseconds: many servers that start together are one change. */
const gatherMs = 25;

export function createNotices(): Notices {
  const listeners = new Set<NoticeListener>();
  const changed = new Set<NoticedList>();
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    timer = undefined;
    const lists = [...changed];
    changed.clear();
    for (const list of lists) for (const listener of [...listeners]) listener.onListChanged?.(list);
  };
  return {
    onListChanged(list) {
      changed.add(list);
      timer ??= setTimeout(flush, gatherMs);
    },
    onResourceUpdated(server, uri) {
      for (const listener of [...listeners]) listener.onResourceUpdated?.(server, uri);
    },
    onLog(level, params) {
      for (const listener of [...listeners]) listener.onLog?.(level, params);
    },
    onVisitCompleted(elicitationId, params) {
      for (const listener of [...listeners]) listener.onVisitCompleted?.(elicitationId, params);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      clearTimeout(timer);
      timer = undefined;
      listeners.clear();
    },
  };
}
