import type {
  CallPhase,
  CallPhases,
  ConnectionInfo,
  CredentialOperationKind,
  PhaseSubject,
} from "@wirescope/tool-server";
import type { SharedWork } from "./shared-work.js";

/** A phase of a call, a part of a phase that is shared with other calls, or a retry. */
export type PhaseName = CallPhase | CredentialOperationKind | "retry";

/** The Channelz objects that a phase used; 0 if there is none. */
export interface ObjectIds {
  readonly channel: number;
  readonly subchannel: number;
  readonly socket: number;
}

/**
 * A phase of a call. Times are whole microseconds since the start of the call: V8 stores a fraction as a separate object, and several
 * phases are kept for each call.
 */
export interface RecordedPhase {
  readonly name: PhaseName;
  readonly depth: number;
  readonly startUs: number;
  /** -1 until it ends. */
  endUs: number;
  hasFailed: boolean;
  reason: string | undefined;
  /** The objects that it used; only their ids once the call has ended, so that no closed socket is kept in memory. */
  used: PhaseSubject | ObjectIds | undefined;
}

/** Beyond this number, the phases of a call are only counted: a server can cause any number of retries. */
const maxPhases = 64;

// A class, because one is created for every call.
export class RecordedPhases implements CallPhases {
  readonly list: RecordedPhase[] = [];
  omitted = 0;
  readonly #startedAt: number;
  readonly #shared: SharedWork;
  /** The connection whose shared work the call waits for, and the phase in which it does. */
  #waitsFor: ConnectionInfo | undefined = undefined;
  #waiting: RecordedPhase | undefined = undefined;

  /** `startedAt` is when the call started, by `performance.now()`. */
  constructor(startedAt: number, shared: SharedWork) {
    this.#startedAt = startedAt;
    this.#shared = shared;
  }

  begin(name: PhaseName, subject?: PhaseSubject): void {
    try {
      this.#begin(name, subject);
    } catch (error) {
      this.#shared.onDefect(error);
    }
  }

  #begin(name: PhaseName, subject?: PhaseSubject): void {
    const nowUs = this.#nowUs();
    if (isExchange(name)) this.#endExchange(nowUs, undefined);
    this.#add(name, nowUs, -1, subject);
    const isShared = (name === "credential" || name === "connecting") && subject !== undefined && isConnection(subject);
    if (!isShared) return;
    this.#waitsFor = subject;
    this.#waiting = this.list.at(-1);
    this.#shared.enter(subject, this);
  }

  end(name: PhaseName, subject?: PhaseSubject): void {
    try {
      this.#end(name, subject);
    } catch (error) {
      this.#shared.onDefect(error);
    }
  }

  #end(name: PhaseName, subject?: PhaseSubject): void {
    const nowUs = this.#nowUs();
    if (name === "response") {
      this.#endExchange(nowUs, subject);
      return;
    }
    const { list } = this;
    for (let index = list.length - 1; index >= 0; index -= 1) {
      const found = list[index];
      if (found?.name !== name || found.endUs >= 0) continue;
      found.used = subject ?? found.used;
      this.#close(index, nowUs, false);
      return;
    }
  }

  retry(reason: string): void {
    try {
      this.#retry(reason);
    } catch (error) {
      this.#shared.onDefect(error);
    }
  }

  #retry(reason: string): void {
    const nowUs = this.#nowUs();
    this.#close(0, nowUs, true);
    this.#add("retry", nowUs, nowUs, undefined, reason);
  }

  /** Ends a shared part that failed. */
  fail(name: PhaseName, reason: string | undefined): void {
    const found = this.list.findLast((phase) => phase.name === name && phase.endUs < 0);
    if (found === undefined) return;
    found.hasFailed = true;
    found.reason = reason;
    this.end(name);
  }

  /** Ends the phases that are still open. They have failed if the call has. */
  finish(durationUs: number, hasFailed: boolean, idsOf: (subject: PhaseSubject) => ObjectIds): void {
    this.#close(0, durationUs, hasFailed);
    for (const phase of this.list) {
      const { used } = phase;
      if (used !== undefined && !isIds(used)) phase.used = idsOf(used);
    }
  }

  #nowUs(): number {
    return Math.round((performance.now() - this.#startedAt) * 1000);
  }

  #add(name: PhaseName, startUs: number, endUs: number, used?: PhaseSubject, reason?: string): void {
    const { list } = this;
    if (list.length >= maxPhases) {
      this.omitted += 1;
      return;
    }
    let depth = 0;
    for (let index = 0; index < list.length; index += 1) if ((list[index]?.endUs ?? 0) < 0) depth += 1;
    list.push({ name, depth, startUs, endUs, hasFailed: false, reason, used });
  }

  #endExchange(nowUs: number, subject: PhaseSubject | undefined): void {
    const last = this.list.at(-1);
    if (last === undefined || last.endUs >= 0 || !isExchange(last.name)) return;
    last.used = subject ?? last.used;
    last.endUs = nowUs;
  }

  /** Ends the open phases from this index on. */
  #close(from: number, nowUs: number, hasFailed: boolean): void {
    const { list } = this;
    for (let index = from; index < list.length; index += 1) {
      const phase = list[index];
      if (phase === undefined || phase.endUs >= 0) continue;
      phase.endUs = Math.max(nowUs, phase.startUs);
      if (hasFailed) phase.hasFailed = true;
    }
    if (this.#waitsFor === undefined || (this.#waiting?.endUs ?? 0) < 0) return;
    this.#shared.leave(this.#waitsFor, this);
    this.#waitsFor = undefined;
    this.#waiting = undefined;
  }
}

/** Whether it is a phase of the request-response exchange: these phases follow each other. */
function isExchange(name: PhaseName): boolean {
  return name === "server" || name === "response" || name === "request";
}

function isConnection(subject: PhaseSubject): subject is ConnectionInfo {
  return !("transport" in subject) && !("connection" in subject);
}

export function isIds(used: PhaseSubject | ObjectIds): used is ObjectIds {
  return "channel" in used;
}
