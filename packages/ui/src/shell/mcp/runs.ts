import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { applySoon } from "../store/batch.js";
import { gatewayClient } from "./gateway-client.js";
import { askUser } from "./input-requests.js";
import { McpError, type McpNotification, objectOf, type RpcObject } from "./mcp-client.js";
import type { Offer } from "./offer.js";
import { paramHeaders } from "./param-headers.js";
import { runFlow } from "./run-flow.js";
import { isSecretInput, keepInTab, keptInTab } from "./tab-storage.js";

/** A request that the user ran in this tab. */
export interface Run {
  readonly id: number;
  readonly offer: Offer;
  readonly method: string;
  readonly params: RpcObject;
  readonly startedAtMs: number;
  readonly endedAtMs?: number;
  readonly status: "running" | "done" | "failed" | "cancelled";
  readonly progress?: { readonly done: number; readonly total?: number; readonly message?: string };
  /** The latest log messages from the server during the run. */
  readonly logs: readonly string[];
  /** The state of the task that it became. */
  readonly task?: { readonly id: string; readonly status: string; readonly message?: string };
  /** Also undefined if it is no longer kept. */
  readonly result?: RpcObject;
  readonly error?: string;
}

const maxRuns = 50;
const maxLogs = 100;
const maxKeptLength = 32 * 1024 * 1024;

const all = signal<readonly Run[]>(restored());
const controllers = new Map<number, AbortController>();
const lengths = new Map<number, number>();
let lastId = Math.max(0, ...all.peek().map(({ id }) => id));

keepInTab("runs", () => all.peek().filter(({ offer }) => !isSecretInput(offer.definition.inputSchema)));

// A server that asked a question would wait for a tab that is gone.
addEventListener("pagehide", () => {
  for (const id of [...controllers.keys()]) cancelRun(id);
});

/** The runs from before a reload. It cancelled those that had not ended. */
function restored(): readonly Run[] {
  return (keptInTab<readonly Run[]>("runs") ?? []).map((run) =>
    run.status === "running" ? { ...run, status: "cancelled", endedAtMs: Date.now() } : run,
  );
}

/** The runs of this tab, the latest first. */
export const runs: ReadonlySignal<readonly Run[]> = computed(() => all.value);

/** Starts a run and returns its id. It continues if the user leaves the view. */
export function startRun(offer: Offer, method: string, params: RpcObject): number {
  lastId += 1;
  const id = lastId;
  const controller = new AbortController();
  controllers.set(id, controller);
  const run: Run = { id, offer, method, params, startedAtMs: Date.now(), status: "running", logs: [] };
  const kept = all.peek().filter(({ status }, index) => index < maxRuns - 1 || status === "running");
  all.value = [run, ...kept];
  void finish(run, controller.signal);
  return id;
}

/** Cancels a run, and its task. */
export function cancelRun(id: number): void {
  controllers.get(id)?.abort(new DOMException("Cancelled.", "AbortError"));
}

/** Resolves with a run once it ended. */
export function endOfRun(id: number): Promise<Run | undefined> {
  return new Promise((resolve) => {
    const stop = all.subscribe((list) => {
      const run = list.find((each) => each.id === id);
      if (run?.status === "running") return;
      resolve(run);
      queueMicrotask(() => stop());
    });
  });
}

export function forgetRuns(): void {
  all.value = all.peek().filter(({ status }) => status === "running");
}

async function finish(run: Run, cancelled: AbortSignal): Promise<void> {
  const { id, offer, method, params } = run;
  const key = {};
  let latest: Partial<Run> = {};
  const show = (changes: Partial<Run>): void => {
    latest = { ...latest, ...changes };
    applySoon(key, () => update(id, latest));
  };
  const end = (changes: Partial<Run>): void => {
    // Pending changes must not overwrite the end.
    applySoon(key, () => {});
    update(id, { ...latest, ...changes, endedAtMs: Date.now() });
    controllers.delete(id);
  };
  const headers = paramHeaders(offer.definition.inputSchema, params.arguments);
  try {
    const result = await runFlow(
      gatewayClient,
      method,
      { ...params, _meta: logLevel },
      {
        signal: cancelled,
        headers,
        ask: (request) => askUser(run, request, cancelled),
        onNotification: (notification) => show(changesBy(notification, latest)),
        onTask({ taskId, status, statusMessage }) {
          const message = typeof statusMessage === "string" ? { message: statusMessage } : {};
          show({ task: { id: String(taskId), status: String(status), ...message } });
        },
        wait,
      },
    );
    lengths.set(id, JSON.stringify(result).length);
    end({ status: result.isError === true ? "failed" : "done", result });
    dropResults();
  } catch (error) {
    end(cancelled.aborted ? { status: "cancelled" } : { status: "failed", error: messageOf(error) });
  }
}

const logLevel = { "io.modelcontextprotocol/logLevel": "info" };

function changesBy({ method, params }: McpNotification, latest: Partial<Run>): Partial<Run> {
  if (method === "notifications/progress") {
    const { progress, total, message } = params;
    if (typeof progress !== "number") return {};
    return {
      progress: {
        done: progress,
        ...(typeof total === "number" ? { total } : {}),
        ...(typeof message === "string" ? { message } : {}),
      },
    };
  }
  if (method !== "notifications/message") return {};
  const { level, data } = params;
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return { logs: [...(latest.logs ?? []), `${String(level)}: ${text}`.slice(0, 2000)].slice(-maxLogs) };
}

function update(id: number, changes: Partial<Run>): void {
  all.value = all.peek().map((run) => (run.id === id ? { ...run, ...changes } : run));
}

/** Drops the oldest results if all together are too large; the latest is always kept. */
function dropResults(): void {
  let total = 0;
  all.value = all.peek().map((run, index) => {
    if (run.result === undefined) return run;
    total += lengths.get(run.id) ?? 0;
    if (total <= maxKeptLength || index === 0) return run;
    const { result, ...rest } = run;
    return rest;
  });
}

function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const code = error instanceof McpError && error.code !== undefined ? ` (${error.code})` : "";
  const { reason } = objectOf(error instanceof McpError ? error.data : undefined);
  return `${text}${typeof reason === "string" ? ` [${reason}]` : code}`;
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal.addEventListener("abort", stop, { once: true });
  });
}
