import { randomBytes } from "node:crypto";
import type { Clock } from "@wirescope/tool-server";
import { type Era, RpcError, type RpcObject, rpcCodes } from "@wirescope/tool-server/internal";
import type { ClientCall } from "../client-call.js";

/** A task that a server created for a client's call. */
export interface KnownTask {
  /** The id that clients use: it is unique across servers and cannot be guessed. */
  readonly id: string;
  readonly server: string;
  /** The server's own id. */
  readonly original: string;
  /** The server's era when it created the task: while the server reconnects, its era is not known. */
  readonly era: Era;
  /** The client that may use it. */
  readonly principal: string;
  /** The legacy session that used it last; it receives the notifications. */
  session: string | undefined;
}

/** The tasks of all servers, each known to the client that it was created for. */
export interface TaskTable {
  readonly size: number;
  /**
   * Adds a task that a server created for a call. `state` is its state as the server sent it. Throws an RpcError if the id is
   * invalid, or belongs to a task of another client.
   */
  add(server: string, era: Era, call: ClientCall, state: RpcObject): KnownTask;
  /** The task with this id, if it belongs to the client of the call. Throws an RpcError otherwise. */
  find(id: unknown, call: ClientCall): KnownTask;
  /** The task with this id, if it belongs to this client. */
  owned(id: unknown, principal: string): KnownTask | undefined;
  /** Keeps the task as long as its latest state says. */
  update(task: KnownTask, state: RpcObject): void;
  /** The tasks of a client, in the order of their creation. */
  ownedBy(principal: string): readonly KnownTask[];
  /** The task with this id of a server. */
  named(server: string, original: unknown): KnownTask | undefined;
}

export interface TaskTableOptions {
  /** Tasks of one client on one server; above it, the one that was used least recently is forgotten. */
  readonly max: number;
  readonly clock: Clock;
}

interface Entry {
  readonly task: KnownTask;
  readonly addedAt: number;
  usedAt: number;
  /** As the server states it; undefined if it states no limit. */
  ttlMs: number | undefined;
}

/** At most this many times `max` tasks are kept for all clients and servers together: without a token, a client can invent names. */
const maxGroups = 64;
/** The maximum length of a task id of a server, in characters. */
const maxIdLength = 1024;
/** How long a task without a time limit is kept after it was last used, in milliseconds. */
const unlimitedMs = 24 * 60 * 60 * 1000;
/** A server may keep a task longer than it states, and its clock may differ. */
const graceMs = 60_000;
/** Milliseconds between two searches for expired tasks. */
const sweepMs = 60_000;

export function createTaskTable({ max, clock }: TaskTableOptions): TaskTable {
  const byId = new Map<string, Entry>();
  /** By server and the server's own id. */
  const byOriginal = new Map<string, Entry>();
  /** By server and client, the least recently used first. */
  const groups = new Map<string, Set<Entry>>();
  let sweptAt = clock.now();

  const remove = (entry: Entry): void => {
    const { id, server, original, principal } = entry.task;
    const group = groups.get(keyOf(server, principal));
    group?.delete(entry);
    if (group?.size === 0) groups.delete(keyOf(server, principal));
    byOriginal.delete(keyOf(server, original));
    byId.delete(id);
  };
  const isExpired = ({ addedAt, usedAt, ttlMs }: Entry, now: number): boolean =>
    now > (ttlMs === undefined ? usedAt + unlimitedMs : Math.max(addedAt + ttlMs, usedAt) + graceMs);
  const sweep = (now: number): void => {
    if (now - sweptAt < sweepMs) return;
    sweptAt = now;
    for (const entry of byId.values()) if (isExpired(entry, now)) remove(entry);
  };
  const use = (entry: Entry, call: ClientCall): KnownTask => {
    entry.usedAt = clock.now();
    if (call.session !== undefined) entry.task.session = call.session.id;
    const group = groups.get(keyOf(entry.task.server, entry.task.principal));
    group?.delete(entry);
    group?.add(entry);
    return entry.task;
  };

  /** A task of another client is treated as one that does not exist. */
  const ownedEntry = (id: unknown, principal: string): Entry | undefined => {
    const entry = typeof id === "string" ? byId.get(id) : undefined;
    if (entry === undefined || entry.task.principal !== principal) return undefined;
    if (!isExpired(entry, clock.now())) return entry;
    remove(entry);
    return undefined;
  };

  return {
    get size() {
      return byId.size;
    },
    add(server, era, call, state) {
      const original = state.taskId;
      const { principal } = call.account;
      if (typeof original !== "string" || original === "" || original.length > maxIdLength)
        throw invalidTask(server, `the id of a task must be a string of 1 to ${maxIdLength} characters`);
      const now = clock.now();
      sweep(now);
      const known = byOriginal.get(keyOf(server, original));
      if (known !== undefined) {
        if (known.task.principal !== principal) throw invalidTask(server, "the task belongs to another client");
        known.ttlMs = ttlOf(state);
        return use(known, call);
      }
      const id = randomBytes(24).toString("base64url");
      const task: KnownTask = { id, server, original, era, principal, session: call.session?.id };
      const entry: Entry = { task, addedAt: now, usedAt: now, ttlMs: ttlOf(state) };
      const key = keyOf(server, principal);
      const group = groups.get(key) ?? new Set();
      const [oldest] = group.size >= max ? group : byId.size >= max * maxGroups ? byId.values() : [];
      if (oldest !== undefined) remove(oldest);
      group.add(entry);
      groups.set(key, group);
      byId.set(id, entry);
      byOriginal.set(keyOf(server, original), entry);
      return task;
    },
    find(id, call) {
      const entry = ownedEntry(id, call.account.principal);
      if (entry === undefined) throw unknownTask(call.method);
      return use(entry, call);
    },
    owned: (id, principal) => ownedEntry(id, principal)?.task,
    update(task, state) {
      const entry = byId.get(task.id);
      if (entry !== undefined) entry.ttlMs = ttlOf(state);
    },
    ownedBy: (principal) =>
      [...byId.values()].flatMap((entry) => (entry.task.principal === principal ? [entry.task] : [])),
    named: (server, original) =>
      typeof original === "string" ? byOriginal.get(keyOf(server, original))?.task : undefined,
  };
}

/** The time limit in a task state of either era. */
function ttlOf({ ttl, ttlMs = ttl }: RpcObject): number | undefined {
  return typeof ttlMs === "number" && ttlMs >= 0 ? ttlMs : undefined;
}

function keyOf(first: string, second: string): string {
  return JSON.stringify([first, second]);
}

function unknownTask(method: string): RpcError {
  return new RpcError(
    rpcCodes.invalidParams,
    `${method} requires the \`taskId\` of a task. This one is unknown or has expired.`,
  );
}

function invalidTask(server: string, problem: string): RpcError {
  const message = `Server ${JSON.stringify(server)} returned a task that cannot be used: ${problem}.`;
  return new RpcError(rpcCodes.failed, message, { data: { reason: "RESPONSE_INVALID" } });
}
