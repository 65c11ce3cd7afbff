import type { Clock, Connection, ListProblem } from "@wirescope/tool-server";
import {
  backOffMs,
  describeDuration,
  describeListProblems,
  isObject,
  jsonLengthOf,
  type RpcObject,
} from "@wirescope/tool-server/internal";
import { clientText, withClientTexts } from "../client-text.js";
import type { GatewayEvents } from "../events.js";
import type { GatewayLimits } from "../limits.js";
import { type CachedList, createCachedList, type LoadedList } from "./cached-list.js";
import { type Offered, type OfferedTool, offerPrompt, offerTool } from "./offered.js";
import { createToolFilter, idlePatternsOf, type ToolFilter } from "./tool-filter.js";

const listKinds = {
  tools: { method: "tools/list", field: "tools", capability: "tools" },
  prompts: { method: "prompts/list", field: "prompts", capability: "prompts" },
  resources: { method: "resources/list", field: "resources", capability: "resources" },
  templates: { method: "resources/templates/list", field: "resourceTemplates", capability: "resources" },
  skills: { method: "skills/list", field: "skills", capability: "io.modelcontextprotocol/skills" },
} as const;

export type ListKind = keyof typeof listKinds;

/** What a server offers through the gateway. */
export interface ServerLists {
  readonly tools: CachedList<OfferedTool>;
  readonly prompts: CachedList<Offered>;
  readonly resources: CachedList<RpcObject>;
  readonly templates: CachedList<RpcObject>;
  /** Of the skills extension. */
  readonly skills: CachedList<RpcObject>;
  /** Patterns of the filter that matched no tool when the tools were last listed. */
  idlePatterns(): readonly string[];
  /** What is omitted from the cached lists because it is invalid. */
  problems(): readonly ListProblem[];
  setFilter(filter: ToolFilter | undefined): void;
  /** The server reports a change: the cached list is used until it is loaded again. */
  refresh(kind: ListKind): void;
  /** The server is connected: loads all lists, so that the first client need not wait. */
  reload(): void;
  /** Reports of changes may have been lost: loads all lists again, but not more often than those of a server that reports none. */
  recheck(): void;
  clear(): void;
  /** Leaves no timer behind. */
  close(): void;
}

export interface ServerListsOptions {
  readonly server: string;
  readonly limits: GatewayLimits;
  readonly clock: Clock;
  readonly filter: ToolFilter | undefined;
  /** Whether tools and prompts keep the server's own names. */
  readonly isUnprefixed: boolean;
  readonly events: Pick<GatewayEvents, "emit">;
  /** The connection of the server, opened if necessary. */
  readonly open: () => Promise<Connection>;
  /**
   * The server, or invalid items of it, are omitted from a list. Called once for each reason, until the list is complete. `isTraced`:
   * the trace of its connection contains it.
   */
  readonly onOmitted: (method: string, reason: string, isTraced: boolean) => void;
  /** The tools of a connected server could not be listed, or are listed again: then without a reason. */
  readonly onToolsListed: (failure?: unknown) => void;
  /** Called with each list of tools, as the server defines them. */
  readonly onTools: (tools: readonly RpcObject[]) => void;
}

/** Time limit to load a list, no matter how long a client waits for it. */
const loadMs = 60_000;
/** Until tools that could not be listed are loaded again, although no client lists them, in milliseconds; doubled up to the maximum. */
const [retryMs, maxRetryMs] = [2000, 60_000];
/** Maximum distinct reasons that are reported until a list is complete again. */
const maxReasons = 16;

export function createServerLists(options: ServerListsOptions): ServerLists {
  const { server, limits, clock, isUnprefixed, events, onOmitted } = options;
  let { filter } = options;
  let isOffered = createToolFilter(filter);
  let idlePatterns: readonly string[] = [];
  const problems = new Map<ListKind, readonly ListProblem[]>();
  let cancelRetry = (): void => {};
  let failures = 0;
  let isClosed = false;
  let cancelRecheck = (): void => {};
  let recheckedAt = Number.NEGATIVE_INFINITY;

  const onToolsFailed = (failure: unknown): void => {
    options.onToolsListed(failure);
    cancelRetry();
    if (isClosed) return;
    failures += 1;
    cancelRetry = clock.after(backOffMs(failures, retryMs, maxRetryMs), () => void tools.get());
  };

  const endRetry = (): void => {
    failures = 0;
    cancelRetry();
  };

  const onToolsLoaded = (): void => {
    endRetry();
    options.onToolsListed();
  };

  const onChanged = (kind: ListKind): void =>
    events.emit({ kind: "list-changed", list: kind === "templates" || kind === "skills" ? "resources" : kind });

  const checkPatterns = (names: readonly string[]): void => {
    const before = idlePatterns;
    idlePatterns = idlePatternsOf(filter, names);
    for (const pattern of idlePatterns) {
      if (before.includes(pattern)) continue;
      const problem = `No tool of server ${JSON.stringify(server)} matches ${JSON.stringify(pattern)} in its tool filter.`;
      events.emit({ kind: "defect", reason: `${problem} Check the names of its tools and correct the filter.` });
    }
  };

  /** `offer` returns undefined for what is not offered, and adds why an item cannot be to `found`. */
  const listOf = <Item>(
    kind: ListKind,
    offer: (definition: RpcObject, found: ListProblem[]) => Item | undefined,
  ): CachedList<Item> => {
    const { method } = listKinds[kind];
    const reported = new Set<string>();
    const omit = (reason: string, isTraced = false): void => {
      if (reported.has(reason) || reported.size >= maxReasons) return;
      reported.add(reason);
      onOmitted(method, reason, isTraced);
    };
    let connection: Connection | undefined;
    return createCachedList<Item>({
      limitMs: limits.listMs,
      clock,
      async load(onSending) {
        connection = await options.open();
        // It reconnects by itself, which loads its lists: a client must not wait for that.
        if (connection.state === "TRANSIENT_FAILURE") throw new Error("The connection failed.");
        const { items, ttlMs } = await fetchList(connection, kind, loadMs, onSending);
        if (kind === "tools") {
          checkPatterns(items.map((item) => String(item.name)));
          options.onTools(items.filter((item) => isOffered(String(item.name))));
        }
        const known = connection.listProblems(method);
        const found = [...known];
        const offered = items.flatMap((item) => offer(withClientTexts(item, limits.descriptionLength), found) ?? []);
        problems.set(kind, found);
        if (found.length === 0) reported.clear();
        else omit(`${describeListProblems(found)}.`, found.length === known.length);
        return { items: offered, ttlMs };
      },
      onLoaded: kind === "tools" ? onToolsLoaded : undefined,
      onChanged: () => onChanged(kind),
      onUnavailable(error) {
        if (error === undefined) {
          omit(`no response in ${describeDuration(limits.listMs)}; it will be added once it responds.`);
          // The reason for a failed connection is reported with its state, and not again for each list.
        } else if (connection?.state !== "READY") omit("not connected; it will be added once it connects.");
        else {
          if (kind === "tools") onToolsFailed(error);
          omit(error instanceof Error ? error.message : String(error));
        }
      },
    });
  };

  const tools = listOf("tools", (tool, found) => {
    const name = String(tool.name);
    if (!isOffered(name)) return undefined;
    const offered = offerTool(server, tool, isUnprefixed);
    if (offered === undefined) {
      found.push({
        item: `tool ${JSON.stringify(name.slice(0, 100))}`,
        reason: "invalid x-mcp-header in its input schema",
      });
    }
    return offered;
  });
  const prompts = listOf("prompts", (prompt) => offerPrompt(server, prompt, isUnprefixed));
  // Their names are text for people: clients use the URI.
  const withName = (item: RpcObject): RpcObject =>
    typeof item.name === "string" ? { ...item, name: clientText(item.name, limits.descriptionLength) } : item;
  const resources = listOf("resources", (item) => (typeof item.uri === "string" ? withName(item) : undefined));
  const templates = listOf("templates", (item) => (typeof item.uriTemplate === "string" ? withName(item) : undefined));
  const skills = listOf("skills", (skill) => (typeof skill.uri === "string" ? skill : undefined));
  const lists = { tools, prompts, resources, templates, skills };

  const reload = (): void => {
    cancelRecheck();
    for (const list of Object.values(lists)) list.invalidate();
    for (const list of Object.values(lists)) void list.get();
  };
  const recheckNow = (): void => {
    recheckedAt = clock.now();
    reload();
  };

  return {
    ...lists,
    idlePatterns: () => idlePatterns,
    problems: () => [...problems.values()].flat(),
    setFilter(next) {
      filter = next;
      isOffered = createToolFilter(next);
      // The cached list may contain tools that are denied now.
      tools.clear();
      void tools.get();
    },
    refresh(kind) {
      lists[kind].invalidate();
      onChanged(kind);
    },
    reload,
    recheck() {
      if (isClosed) return;
      cancelRecheck();
      const waitMs = recheckedAt + unwatchedTtlMs - clock.now();
      if (waitMs <= 0) recheckNow();
      else cancelRecheck = clock.after(waitMs, recheckNow);
    },
    clear() {
      endRetry();
      cancelRecheck();
      problems.clear();
      for (const list of Object.values(lists)) list.clear();
    },
    close() {
      isClosed = true;
      endRetry();
      cancelRecheck();
    },
  };
}

/** Limits for a server whose list never ends. */
const maxPages = 100;
const maxItems = 20_000;
/** For all pages of a list together. */
const maxCharacters = 16 * 1024 * 1024;
/** How long a list is used if its server does not report changes, in milliseconds. */
const unwatchedTtlMs = 30_000;

/** All pages of a list; empty if the server does not have the capability. Rejects as the connection does. */
async function fetchList(
  connection: Connection,
  kind: ListKind,
  timeoutMs: number,
  onSending: () => void,
): Promise<LoadedList<RpcObject>> {
  const { method, field, capability } = listKinds[kind];
  const deadline = Date.now() + timeoutMs;
  const server = connection.server ?? (await connection.connect({ signal: AbortSignal.timeout(timeoutMs) }));
  onSending();
  const { extensions, ...core } = server.capabilities;
  const offered = (core as RpcObject)[capability] ?? extensions?.[capability];
  if (offered === undefined) return { items: [], ttlMs: Number.POSITIVE_INFINITY };
  const ttlMs = isObject(offered) && offered.listChanged === true ? Number.POSITIVE_INFINITY : unwatchedTtlMs;
  const items: RpcObject[] = [];
  let cursor: string | undefined;
  let characters = 0;
  for (let page = 0; page < maxPages && items.length < maxItems; page += 1) {
    const result = await connection.request(method, cursor === undefined ? {} : { cursor }, {
      totalTimeoutMs: Math.max(1, deadline - Date.now()),
    });
    const found = result[field];
    // Not spread: a page may hold more items than a function takes arguments.
    for (const item of Array.isArray(found) ? found.filter(isObject) : []) {
      // An item that is nested too deeply is checked when it is offered.
      characters += jsonLengthOf(item) ?? 0;
      if (characters > maxCharacters) {
        throw new Error(
          `The list is longer than ${maxCharacters} characters. Ask the operator of the server to shorten it.`,
        );
      }
      if (items.length < maxItems) items.push(item);
    }
    const next = result.nextCursor;
    if (typeof next !== "string" || next === cursor) break;
    cursor = next;
  }
  return { items, ttlMs };
}
