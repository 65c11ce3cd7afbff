import type { Clock, MessageOrigin } from "@wirescope/tool-server";
import {
  isLevelAtLeast,
  isLogLevel,
  jsonLengthOf,
  type LogLevel,
  metaOf,
  type RpcObject,
} from "@wirescope/tool-server/internal";
import { ClientCall } from "../client-call.js";
import type { GatewayEvents } from "../events.js";
import { extensionParams, isExtensionNotification, maxBroadcastLength } from "../extension-messages.js";
import { createRates } from "../limits.js";
import { legacyTask, relatedTaskKey, relatedTaskOf } from "../task-states.js";
import type { CallsInFlight } from "./server-calls.js";
import type { ListKind } from "./server-lists.js";
import type { TaskTable } from "./task-table.js";

/** Log messages and extension notifications per second that relate to no call, as an average: each is sent to every client. */
const maxLogRate = 200;

const changedLists: Readonly<Record<string, readonly ListKind[]>> = {
  "notifications/tools/list_changed": ["tools"],
  "notifications/prompts/list_changed": ["prompts"],
  "notifications/resources/list_changed": ["resources", "templates"],
};

export interface ServerNotificationsOptions {
  readonly server: string;
  readonly events: Pick<GatewayEvents, "emit">;
  readonly calls: CallsInFlight;
  /** Whether a server message that relates to a call arrives on that call's stream. */
  readonly hasStreamPerCall: () => boolean;
  readonly onListChanged: (kind: ListKind) => void;
  /** The tasks of all servers. */
  readonly tasks: Pick<TaskTable, "named" | "update">;
  readonly clock: Clock;
}

export function createServerNotifications(
  options: ServerNotificationsOptions,
): (method: string, params: RpcObject, origin: Pick<MessageOrigin, "call">) => void {
  const { server, events, calls, hasStreamPerCall, onListChanged, tasks, clock } = options;
  const rates = createRates(maxLogRate, () => clock.now());
  let dropped = 0;

  const broadcast = (level: LogLevel, params: RpcObject): void => {
    if (!rates.take("")) {
      dropped += 1;
      return;
    }
    if (dropped > 0) {
      const data = `Dropped ${dropped} log messages from this server: it exceeds the limit of ${maxLogRate} per second.`;
      events.emit({ kind: "server-log", level: "warning", params: { level: "warning", logger: server, data } });
      dropped = 0;
    }
    events.emit({ kind: "server-log", level, params });
  };

  const log = (params: RpcObject, origin: Pick<MessageOrigin, "call">): void => {
    const { level, logger } = params;
    if (!isLogLevel(level)) return;
    const named = { ...params, logger: typeof logger === "string" && logger !== "" ? `${server}/${logger}` : server };
    const { call } = origin;
    if (call === undefined) {
      broadcast(level, named);
      return;
    }
    // A message about a call that has ended belongs to no client, and must not be broadcast.
    if (!(call instanceof ClientCall) || !calls.has(call)) return;
    const minLevel = call.logLevel ?? (call.era === "legacy" ? "debug" : undefined);
    if (minLevel !== undefined && isLevelAtLeast(level, minLevel)) call.notify("notifications/message", named);
  };

  /** Only the client that owns the task is notified. */
  const reportModernTask = (params: RpcObject): void => {
    const task = tasks.named(server, params.taskId);
    if (task?.era !== "modern") return;
    tasks.update(task, params);
    events.emit({ kind: "task-updated", id: task.id, params: { ...extensionParams(params), taskId: task.id } });
  };

  /** The same for a legacy server. Modern clients poll instead, because the notification contains no result. */
  const reportTask = (params: RpcObject): void => {
    const task = tasks.named(server, params.taskId);
    if (task === undefined) return;
    tasks.update(task, params);
    const { session, id } = task;
    if (session !== undefined) events.emit({ kind: "task-status", session, params: legacyTask(params, id) });
  };

  /** Forwards an extension notification to the client that it concerns, or to all clients if it relates to no call. */
  const forwardExtension = (method: string, params: RpcObject, { call }: Pick<MessageOrigin, "call">): void => {
    const own = extensionParams(params);
    if (call !== undefined) {
      if (call instanceof ClientCall && calls.has(call)) call.notify(method, own);
      return;
    }
    const taskId = relatedTaskOf(params);
    if (taskId !== undefined) {
      const { session, id } = tasks.named(server, taskId) ?? {};
      const related = { ...own, _meta: { ...metaOf(own), [relatedTaskKey]: { taskId: id } } };
      if (session !== undefined) events.emit({ kind: "extension-notification", session, method, params: related });
      return;
    }
    if (calls.size > 0 && !hasStreamPerCall()) {
      // It may be about any of the calls in flight, so it is sent only if they all belong to one client.
      const [first, ...others] = calls;
      if (others.every(({ account }) => account === first?.account)) first?.notify(method, own);
      return;
    }
    if ((jsonLengthOf(own) ?? Number.POSITIVE_INFINITY) > maxBroadcastLength || !rates.take("extensions")) return;
    events.emit({ kind: "extension-notification", session: undefined, method, params: own });
  };

  return (method, params, origin) => {
    const changed = Object.hasOwn(changedLists, method) ? changedLists[method] : undefined;
    if (changed !== undefined) for (const kind of changed) onListChanged(kind);
    else if (method === "notifications/message") log(params, origin);
    else if (method === "notifications/tasks") reportModernTask(params);
    else if (method === "notifications/tasks/status") reportTask(params);
    else if (method === "notifications/resources/updated" && typeof params.uri === "string") {
      events.emit({ kind: "resource-updated", server, uri: params.uri });
    } else if (method === "notifications/elicitation/complete" && typeof params.elicitationId === "string") {
      events.emit({ kind: "elicitation-completed", server, elicitationId: params.elicitationId });
    } else if (isExtensionNotification(method)) forwardExtension(method, params, origin);
  };
}
