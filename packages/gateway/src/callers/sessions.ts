import { type LogLevel, logLevels } from "@wirescope/tool-server/internal";
import type { GatewayListener } from "../events.js";
import type { GatewayLimits } from "../limits.js";
import type { Notices } from "../notices.js";
import { createSession, type Session, type SessionInit } from "./session.js";

/** The sessions of the older era: as many as the limits allow, each belonging to whoever began it. */
export interface Sessions {
  readonly size: number;
  /** Begins one; undefined where there is no room, for all are busy. */
  begin(init: Omit<SessionInit, "onClosed" | "onLogLevel">): Session | undefined;
  /** The session of this id, where it is this principal's; to all others it does not exist. */
  find(id: string, principal: string): Session | undefined;
  /** The least level of log messages that any session wants; undefined where none said so. */
  leastLogLevel(): LogLevel | undefined;
  /** Ends all. */
  close(reason: string): void;
}

export interface SessionsOptions {
  readonly limits: GatewayLimits;
  readonly notices: Notices;
  readonly tell: GatewayListener;
  /** The lowest level of log messages that any session wants may have changed. */
  readonly onLogLevel: () => void;
}

export function createSessions({ limits, notices, tell, onLogLevel }: SessionsOptions): Sessions {
  const sessions = new Map<string, Session>();
  const silences = new Map<Session, () => void>();
  const { sessionIdleMs } = limits;
  const sweep = (now: number): void => {
    const oldest = now - sessionIdleMs;
    for (const session of sessions.values()) {
      if (session.isIdle && session.usedAt <= oldest) session.close("It was idle for too long.");
    }
  };
  // After the poll phase: a timer runs before it, and after a long turn would end a session whose request has arrived but is not read.
  const timer = setInterval(() => setImmediate(sweep, Date.now()), Math.min(60_000, Math.max(10, sessionIdleMs / 4)));
  timer.unref();

  const makeRoom = (): boolean => {
    let longestIdle: Session | undefined;
    for (const session of sessions.values()) {
      if (session.isIdle && (longestIdle === undefined || session.usedAt < longestIdle.usedAt)) longestIdle = session;
    }
    longestIdle?.close("It gave way to a newer one.");
    return longestIdle !== undefined;
  };

  const onClosed = (session: Session, reason: string): void => {
    sessions.delete(session.id);
    silences.get(session)?.();
    silences.delete(session);
    tell({ kind: "session-closed", client: session.account.label, session: session.shortId, reason });
  };

  return {
    get size() {
      return sessions.size;
    },
    begin(init) {
      if (sessions.size >= limits.sessions && !makeRoom()) {
        tell({
          kind: "refused",
          limit: "sessions",
          reason: `There are ${limits.sessions} sessions, and all are busy.`,
        });
        return undefined;
      }
      const session = createSession({ ...init, onLogLevel, onClosed });
      sessions.set(session.id, session);
      silences.set(session, notices.subscribe(session));
      tell({ kind: "session-opened", client: init.account.label, session: session.shortId, reason: "initialize" });
      return session;
    },
    find(id, principal) {
      const session = sessions.get(id);
      return session?.account.principal === principal ? session : undefined;
    },
    leastLogLevel() {
      let least: number | undefined;
      for (const { logLevel } of sessions.values()) {
        if (logLevel !== undefined) least = Math.min(least ?? logLevels.length, logLevels.indexOf(logLevel));
      }
      return least === undefined ? undefined : logLevels[least];
    },
    close(reason) {
      clearInterval(timer);
      for (const session of [...sessions.values()]) session.close(reason);
    },
  };
}
