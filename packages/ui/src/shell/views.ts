import type { ComponentType } from "preact";
import type { IconName } from "../design/index.js";
import { matchPath, parseAddress, type ViewProps } from "./routing/index.js";
import type { Session } from "./store/index.js";

/** A view and its addresses. */
export interface ViewDefinition {
  readonly title: string;
  /** The first pattern is the address in the side bar. */
  readonly patterns: readonly string[];
  /** In the side bar; undefined if the view is reached by links only. */
  readonly icon?: IconName;
  /** The key that opens the view after "g". */
  readonly key?: string;
  /** Whether the page's server has the data for the view. Default: always. */
  readonly isAvailable?: (session: Session) => boolean;
  readonly load: () => Promise<ComponentType<ViewProps>>;
}

/** All views, in the order of the side bar. Each is loaded when it is first shown. */
export const views: readonly ViewDefinition[] = [
  {
    title: "Overview",
    patterns: ["/", "/overview"],
    icon: "overview",
    key: "o",
    load: async () => (await import("../overview/overview-view.js")).OverviewView,
  },
  {
    title: "Connections",
    patterns: ["/connections"],
    icon: "connections",
    key: "c",
    load: async () => (await import("../connections/connections-view.js")).ConnectionsView,
  },
  {
    title: "Calls",
    patterns: ["/calls"],
    icon: "calls",
    key: "l",
    isAvailable: ({ features }) => features.calls,
    load: async () => (await import("../calls/calls-view.js")).CallsView,
  },
  {
    title: "Tools",
    patterns: ["/tools", "/tools/:server", "/tools/:server/:tool", "/resources", "/prompts"],
    icon: "tools",
    key: "t",
    isAvailable: ({ features }) => features.tools,
    load: async () => (await import("../tools/tools-view.js")).ToolsView,
  },
  {
    title: "Explain",
    patterns: ["/explain", "/explain/:server"],
    icon: "explain",
    key: "e",
    isAvailable: ({ features }) => features.servers,
    load: async () => (await import("../explain/explain-view.js")).ExplainView,
  },
  {
    title: "History",
    patterns: ["/history"],
    icon: "history",
    key: "h",
    load: async () => (await import("../history/history-view.js")).HistoryView,
  },
  {
    title: "Object",
    patterns: ["/object/:kind/:id"],
    load: async () => (await import("../object/object-view.js")).ObjectView,
  },
  {
    title: "Call",
    patterns: ["/calls/:id"],
    load: async () => (await import("../calls/call-view.js")).CallView,
  },
  {
    title: "Server",
    patterns: ["/servers/:name"],
    load: async () => (await import("../overview/server-view.js")).ServerView,
  },
];

/** A view with the parameters of its address. */
export interface FoundView extends Omit<ViewProps, "isPanel"> {
  readonly view: ViewDefinition;
}

/** The view of an address; undefined if no view has it. */
export function findView(url: string): FoundView | undefined {
  const { path, query } = parseAddress(url);
  for (const view of views) {
    for (const pattern of view.patterns) {
      const params = matchPath(pattern, path);
      if (params !== undefined) return { view, path, params, query };
    }
  }
  return undefined;
}
