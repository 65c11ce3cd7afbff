/** What was done, what came of it, and what of that was to be expected. */
export interface Ledger {
  readonly counts: Record<Counted, number>;
  /** Clients that received another client's data. Must stay empty. */
  readonly crossTalk: string[];
  /** What failed, by kind. */
  readonly failures: ReadonlyMap<string, FailureKind>;
  /** The longest time from a disturbance to the first response after it, in milliseconds. */
  readonly longestOutageMs: number;
  /** Names the server that is about to be disturbed. Returns what to call when that has been done. */
  disturb(server: string, why: Cause): () => void;
  responded(server: string, startedAt: number): void;
  /** A call failed: explained where its server was disturbed meanwhile. */
  failed(server: string, startedAt: number, reason: string): void;
  /** Something failed that nothing explains. */
  unexplained(kind: string, reason: string): void;
}

export type Counted =
  | "connects"
  | "closes"
  | "vanishes"
  | "calls"
  | "responses"
  | "cancels"
  | "abandoned"
  | "questions"
  | "steps"
  | "lists"
  | "reloads"
  | "kills"
  /** Sessions that ended as idle, because a request took longer to arrive than a session may be idle. */
  | "lostSessions";

export interface FailureKind {
  count: number;
  unexplained: number;
  /** What the churn had done, by how often it explained one. */
  readonly causes: Map<string, number>;
  /** One example. */
  readonly example: string;
}

/** What is done to a server. */
export type Cause = "killed" | "changed by a reload" | "taken out by a reload";

const gone = /ended during|was closed|is unavailable/;
const reloaded = new RegExp(`${gone.source}|was just changed or removed`);

/** How a call may fail by it. */
const consequences: Readonly<Record<Cause, RegExp>> = {
  killed: new RegExp(
    `${gone.source}|(?:closed|ended) the connection|cut off|broke off|Cannot reach|SIGKILL|no longer knows`,
  ),
  "changed by a reload": reloaded,
  "taken out by a reload": new RegExp(`${reloaded.source}|Tool "[^"]+" does not exist`),
};

interface Disturbance {
  readonly why: Cause;
  readonly from: number;
  doneAt: number | undefined;
  /** When a call that began after it got its response. */
  to: number | undefined;
}

export function createLedger(): Ledger {
  const disturbances = new Map<string, Disturbance[]>();
  const failures = new Map<string, FailureKind>();
  const crossTalk: string[] = [];
  let longestOutageMs = 0;

  const note = (kind: string, example: string, cause: string | undefined): void => {
    const found = failures.get(kind) ?? { count: 0, unexplained: 0, causes: new Map<string, number>(), example };
    failures.set(kind, found);
    found.count += 1;
    if (cause === undefined) {
      found.unexplained += 1;
      Object.assign(found, { example });
    } else found.causes.set(cause, (found.causes.get(cause) ?? 0) + 1);
  };

  return {
    counts: {
      connects: 0,
      closes: 0,
      vanishes: 0,
      calls: 0,
      responses: 0,
      cancels: 0,
      abandoned: 0,
      questions: 0,
      steps: 0,
      lists: 0,
      reloads: 0,
      kills: 0,
      lostSessions: 0,
    },
    crossTalk,
    failures,
    get longestOutageMs() {
      return longestOutageMs;
    },
    disturb(server, why) {
      const disturbance: Disturbance = { why, from: performance.now(), doneAt: undefined, to: undefined };
      const list = disturbances.get(server) ?? [];
      disturbances.set(server, list);
      list.push(disturbance);
      return () => {
        disturbance.doneAt = performance.now();
      };
    },
    responded(server, startedAt) {
      const now = performance.now();
      for (const disturbance of disturbances.get(server) ?? []) {
        const { doneAt, to } = disturbance;
        if (to !== undefined || doneAt === undefined || startedAt < doneAt) continue;
        disturbance.to = now;
        longestOutageMs = Math.max(longestOutageMs, now - doneAt);
      }
    },
    failed(server, startedAt, reason) {
      const during = disturbances.get(server)?.filter(({ to }) => to === undefined || to >= startedAt);
      const cause = during?.findLast(({ why }) => consequences[why].test(reason));
      note(kindOf(reason), `${server}: ${reason}`, cause?.why);
    },
    unexplained: (kind, reason) => note(kind, reason, undefined),
  };
}

/** The words of a failure without what differs from one to the next. */
function kindOf(reason: string): string {
  return reason
    .replace(/"[^"]*"/g, '"…"')
    .replace(/\b(https?|stdio):\S+/g, "$1:…")
    .replace(/\d+/g, "n")
    .slice(0, 160);
}
