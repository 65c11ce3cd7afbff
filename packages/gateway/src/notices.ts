import type { JsonObject, LogLevel } from "@wirescope/tool-server/internal";

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

/** How long changes of one list, or of one resource, are gathered, in milliseconds: many servers that start together are one change. */
const gatherMs = 25;
/** How long clients have peace between two changes of one list, in milliseconds: a server may say so without end. */
const peaceMs = 250;

/** `onDefect` is called with what a listener throws: the others are notified all the same. */
export function createNotices(onDefect: (error: unknown) => void = () => {}): Notices {
  const listeners = new Set<NoticeListener>();
  const notify = (notice: (listener: NoticeListener) => void): void => {
    for (const listener of [...listeners]) {
      try {
        notice(listener);
      } catch (error) {
        onDefect(error);
      }
    }
  };
  const changed = new Set<NoticedList>();
  /** When clients may be told of a list again. */
  const peaceUntil = new Map<NoticedList, number>();
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    timer = undefined;
    const now = performance.now();
    const lists = [...changed].filter((list) => (peaceUntil.get(list) ?? 0) <= now);
    for (const list of lists) {
      changed.delete(list);
      peaceUntil.set(list, now + peaceMs);
    }
    if (changed.size > 0) {
      const next = Math.min(...[...changed].map((list) => peaceUntil.get(list) ?? 0));
      timer = setTimeout(flush, Math.max(gatherMs, next - now));
    }
    for (const list of lists) notify((listener) => listener.onListChanged?.(list));
  };
  const updated = new Map<string, readonly [server: string, uri: string]>();
  let updateTimer: NodeJS.Timeout | undefined;
  const flushUpdates = (): void => {
    updateTimer = undefined;
    const updates = [...updated.values()];
    updated.clear();
    notify((listener) => {
      for (const update of updates) listener.onResourceUpdated?.(...update);
    });
  };
  return {
    onListChanged(list) {
      changed.add(list);
      timer ??= setTimeout(flush, gatherMs);
    },
    onResourceUpdated(server, uri) {
      updated.set(JSON.stringify([server, uri]), [server, uri]);
      updateTimer ??= setTimeout(flushUpdates, gatherMs);
    },
    onLog(level, params) {
      notify((listener) => listener.onLog?.(level, params));
    },
    onVisitCompleted(elicitationId, params) {
      notify((listener) => listener.onVisitCompleted?.(elicitationId, params));
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      clearTimeout(timer);
      clearTimeout(updateTimer);
      timer = undefined;
      updateTimer = undefined;
      listeners.clear();
    },
  };
}
