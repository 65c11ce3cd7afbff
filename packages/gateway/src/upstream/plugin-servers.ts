import type { ToolServersOptions } from "@wirescope/tool-server";

/** The servers of one plugin: its configuration, its root, and the variables that its entries use. */
export type PluginServers = Omit<ToolServersOptions, "settings" | "isEager" | "secrets">;
