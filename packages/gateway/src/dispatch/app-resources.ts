import { isObject, type RpcObject } from "@wirescope/tool-server/internal";
import type { Offered } from "../servers/offered.js";
import type { GatewayServer } from "../servers/server.js";

/** The MCP Apps extension: user interfaces that a client shows for tools. */
const uiExtension = "io.modelcontextprotocol/ui";

/** Whether a client shows apps. */
export function showsApps({ extensions }: RpcObject): boolean {
  return isObject(extensions) && isObject(extensions[uiExtension]);
}

/** The URI of a tool's app; undefined if it has none. */
export function appUriOf({ _meta }: RpcObject): string | undefined {
  if (!isObject(_meta)) return undefined;
  // Earlier servers have a flat key.
  const uri = isObject(_meta.ui) ? _meta.ui.resourceUri : _meta["ui/resourceUri"];
  return typeof uri === "string" ? uri : undefined;
}

/** Whether only an app may call a tool: it is hidden from a client that shows no apps. */
export function isForAppsOnly({ _meta }: RpcObject): boolean {
  const visibility = isObject(_meta) && isObject(_meta.ui) ? _meta.ui.visibility : undefined;
  return Array.isArray(visibility) && !visibility.includes("model");
}

/** Whether a server has a tool with this app. The app itself may be in no list. Only `ui://` URIs are apps. */
export function hasApp({ tools }: GatewayServer, uri: string): boolean {
  if (!uri.startsWith("ui://")) return false;
  return tools.cached?.some(({ definition }) => appUriOf(definition) === uri) ?? false;
}

/** A tool with another app URI: one that identifies the server if another server has the same URI. */
export function withAppUri<Tool extends Offered>(tool: Tool, rename: (uri: string) => string): Tool {
  const uri = appUriOf(tool.definition);
  const own = uri === undefined ? undefined : rename(uri);
  if (own === uri) return tool;
  const { _meta } = tool.definition as { readonly _meta: RpcObject };
  const ui = isObject(_meta.ui) ? { ui: { ..._meta.ui, resourceUri: own } } : {};
  const flat = _meta["ui/resourceUri"] === undefined ? {} : { "ui/resourceUri": own };
  return { ...tool, definition: { ...tool.definition, _meta: { ..._meta, ...ui, ...flat } } };
}
