import { isObject, metaKeys, metaOf, type RpcObject } from "@wirescope/tool-server/internal";
import { relatedTaskKey } from "./task-states.js";
import { traceKeys } from "./trace-fields.js";

/** Core protocol notifications, in either direction. The gateway handles or ignores them; all others belong to extensions. */
const coreNotifications: ReadonlySet<string> = new Set([
  "notifications/cancelled",
  "notifications/elicitation/complete",
  "notifications/initialized",
  "notifications/message",
  "notifications/progress",
  "notifications/prompts/list_changed",
  "notifications/resources/list_changed",
  "notifications/resources/updated",
  "notifications/roots/list_changed",
  "notifications/subscriptions/acknowledged",
  "notifications/tasks",
  "notifications/tasks/status",
  "notifications/tools/list_changed",
]);

/** The first segments of the core protocol methods. */
const coreRequests: ReadonlySet<string> = new Set([
  "completion",
  "elicitation",
  "initialize",
  "logging",
  "ping",
  "prompts",
  "resources",
  "roots",
  "sampling",
  "server",
  "subscriptions",
  "tasks",
  "tools",
]);

/** Keys in `_meta` that are addressed to the gateway, by a client or a server. */
export const gatewayMetaKeys: ReadonlySet<string> = new Set([
  "progressToken",
  ...traceKeys,
  metaKeys.protocolVersion,
  metaKeys.clientInfo,
  metaKeys.clientCapabilities,
  metaKeys.logLevel,
  metaKeys.subscriptionId,
]);

/** Whether a notification belongs to an extension. */
export function isExtensionNotification(method: string): boolean {
  return !coreNotifications.has(method);
}

/** Whether a request from a server belongs to an extension. */
export function isExtensionRequest(method: string): boolean {
  const [first = ""] = method.split("/", 1);
  return !coreRequests.has(first);
}

/** Whether a client or server with these capabilities declares an extension. */
export function hasExtensions({ extensions }: RpcObject): boolean {
  return isObject(extensions) && Object.keys(extensions).length > 0;
}

/** Whether both declare the same extension. */
export function shareExtension(one: RpcObject, other: RpcObject): boolean {
  const [ours, theirs] = [one.extensions, other.extensions];
  return isObject(ours) && isObject(theirs) && Object.keys(ours).some((id) => Object.hasOwn(theirs, id));
}

/** The parameters of an extension message to forward: without keys that are addressed to the gateway. */
export function extensionParams(params: RpcObject): RpcObject {
  const meta = metaOf(params);
  if (meta === undefined) return params;
  const kept = Object.entries(meta).filter(([key]) => !gatewayMetaKeys.has(key) && key !== relatedTaskKey);
  const { _meta, ...rest } = params;
  return kept.length === 0 ? rest : { ...rest, _meta: Object.fromEntries(kept) };
}
