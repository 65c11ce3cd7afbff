import { type LogLevel, logLevels } from "@wirescope/tool-server/internal";
import type { GatewayEvents } from "../events.js";
import type { GatewayLimits } from "../limits.js";
import { createSession, type Session, type SessionInit } from "./session.js";

/** The sessions of legacy clients. Each belongs to the principal that started it. */
export interface Sessions {
  readonly all: Pick<ReadonlyMap<string, Session>, "size">;
  /** Starts a session; undefined if the limit is reached and no session is idle. */
  begin(init: Omit<SessionInit, "onClosed" | "onLogLevel">): Session | undefined;
  /** The session with this id, if it belongs to this principal; to all others it does not exist. */
  find(id: string, principal: string): Session | undefined;
  /**
   * The log level that servers have to use for all sessions together: the lowest that any has set, or `debug` while one has set none,
   * because such a session receives everything. Undefined if no session has ever set a level: then servers use their own.
   */
  minLogLevel(): LogLevel | undefined;
  /** Ends all. */
  close(reason: string): void;
}

export interface SessionsOptions {
  readonly limits: GatewayLimits;
  readonly events: GatewayEvents;
  /** Called when `minLogLevel` may have changed. */
  readonly onLogLevel: (min: LogLevel | undefined) => void;
}

export function createSessions({ limits, events, onLogLevel }: SessionsOptions): Sessions {
  const open = new Map<string, Session>();
  const unsubscribes = new Map<Session, () => void>();
  let hasSetLevel = false;
  let minLogLevel: LogLevel | undefined;
  const onLevelSet = (): void => {
    hasSetLevel = true;
    onLogLevel(sessions.minLogLevel());
  };
  const { sessionIdleMs } = limits;
  const sweep = (now: number): void => {
    const oldest = now - sessionIdleMs;
    for (const session of open.values()) {
      if (session.isIdle() && session.usedAt <= oldest) session.close("idle timeout");
    }
  };
  // `setImmediate` runs after the poll phase. The timer alone runs before it, and after a long turn would end a session whose request
  // has arrived but is not read yet.
  const timer = setInterval(() => setImmediate(sweep, Date.now()), Math.min(60_000, Math.max(10, sessionIdleMs / 4)));
  timer.unref();

  const makeRoom = (): boolean => {
    let longestIdle: Session | undefined;
    for (const session of open.values()) {
      if (session.isIdle() && (longestIdle === undefined || session.usedAt < longestIdle.usedAt)) longestIdle = session;
    }
    longestIdle?.close("replaced by a newer session at the session limit");
    return longestIdle !== undefined;
  };

  const onClosed = (session: Session, reason: string): void => {
    open.delete(session.id);
    unsubscribes.get(session)?.();
    unsubscribes.delete(session);
    onLogLevel(sessions.minLogLevel());
    events.emit({ kind: "session-closed", clientName: session.account.label, session: session.shortId, reason });
  };

  const sessions: Sessions = {
    all: open,
    begin(init) {
      if (open.size >= limits.sessions && !makeRoom()) {
        const reason = `The limit of ${limits.sessions} sessions is reached, and none of them is idle.`;
        events.emit({ kind: "refused", limit: "sessions", reason });
        return undefined;
      }
      const session = createSession({ ...init, onLogLevel: onLevelSet, onClosed });
      open.set(session.id, session);
      unsubscribes.set(session, events.subscribe(session.handlers));
      onLogLevel(sessions.minLogLevel());
      events.emit({
        kind: "session-opened",
        clientName: init.account.label,
        session: session.shortId,
        reason: "initialize",
      });
      return session;
    },
    find(id, principal) {
      const session = open.get(id);
      return session?.account.principal === principal ? session : undefined;
    },
    minLogLevel() {
      // Without sessions nobody reads the messages, so the level stays.
      if (!hasSetLevel || open.size === 0) return minLogLevel;
      let lowest = logLevels.length - 1;
      for (const { logLevel } of open.values()) {
        lowest = Math.min(lowest, logLevel === undefined ? 0 : logLevels.indexOf(logLevel));
      }
      minLogLevel = logLevels[lowest];
      return minLogLevel;
    },
    close(reason) {
      clearInterval(timer);
      for (const session of [...open.values()]) session.close(reason);
    },
  };
  return sessions;
}
