import type { MessageOrigin } from "@wirescope/tool-server";
import { isLevelAtLeast, isLogLevel, metaOf, type RpcObject } from "@wirescope/tool-server/internal";
import { ClientCall } from "../client-call.js";
import type { GatewayEvents } from "../events.js";
import { extensionParams, isExtensionNotification } from "../extension-messages.js";
import { legacyTask, relatedTaskKey, relatedTaskOf } from "../task-states.js";
import type { CallsInFlight } from "./server-calls.js";
import type { ListKind } from "./server-lists.js";
import { newestOfOneClient } from "./server-requests.js";
import type { TaskTable } from "./task-table.js";

const changedLists: Readonly<Record<string, readonly ListKind[]>> = {
  "notifications/tools/list_changed": ["tools"],
  "notifications/prompts/list_changed": ["prompts"],
  "notifications/resources/list_changed": ["resources", "templates"],
};

export interface ServerNotificationsOptions {
  readonly server: string;
  readonly events: Pick<GatewayEvents, "emit">;
  readonly calls: CallsInFlight;
  readonly onListChanged: (kind: ListKind) => void;
  /** The tasks of all servers. */
  readonly tasks: Pick<TaskTable, "named" | "update">;
}

export function createServerNotifications(
  options: ServerNotificationsOptions,
): (method: string, params: RpcObject, origin: Pick<MessageOrigin, "call">) => void {
  const { server, events, calls, onListChanged, tasks } = options;

  /**
   * The call whose client receives a message; undefined if the message must not reach any: its call has ended, or it may belong to the
   * calls of several clients.
   */
  const recipientOf = (call: MessageOrigin["call"]): ClientCall | undefined => {
    if (call === undefined) return newestOfOneClient([...calls]);
    return call instanceof ClientCall && calls.has(call) ? call : undefined;
  };

  const log = (params: RpcObject, origin: Pick<MessageOrigin, "call">): void => {
    const { level, logger } = params;
    if (!isLogLevel(level)) return;
    const call = recipientOf(origin.call);
    const minLevel = call?.logLevel ?? (call?.era === "legacy" ? "debug" : undefined);
    if (minLevel === undefined || !isLevelAtLeast(level, minLevel)) return;
    const named = { ...params, logger: typeof logger === "string" && logger !== "" ? `${server}/${logger}` : server };
    call?.notify("notifications/message", named);
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

  /** Forwards an extension notification to the client that it concerns. */
  const forwardExtension = (method: string, params: RpcObject, { call }: Pick<MessageOrigin, "call">): void => {
    const own = extensionParams(params);
    const taskId = call === undefined ? relatedTaskOf(params) : undefined;
    if (taskId === undefined) {
      recipientOf(call)?.notify(method, own);
      return;
    }
    const { session, id } = tasks.named(server, taskId) ?? {};
    const related = { ...own, _meta: { ...metaOf(own), [relatedTaskKey]: { taskId: id } } };
    if (session !== undefined) events.emit({ kind: "extension-notification", session, method, params: related });
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
