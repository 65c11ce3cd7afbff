import {
  type Era,
  type Implementation,
  isLevelAtLeast,
  isLogLevel,
  type JsonObject,
  quoted,
  RpcError,
  rpcCodes,
} from "@wirescope/tool-server/internal";
import type { ClientCall } from "../client-call.js";
import type { Notices } from "../notices.js";
import type { Upstream } from "../servers/upstream.js";
import { createLogLimit } from "./log-limit.js";
import { complete, getPrompt, listPrompts } from "./prompts.js";
import { createResourceRoutes, type ResourceRoutes } from "./resource-routes.js";
import { readResource, subscribeResource, unsubscribeResource } from "./resources.js";
import { readStatus, statusResource, statusUri, unavailableText } from "./status.js";
import { callTool, listTools } from "./tools.js";

/** All servers as one: what a client asks is asked of the server that has it. */
export interface Hub {
  readonly info: Implementation;
  readonly routes: ResourceRoutes;
  readonly capabilities: JsonObject;
  /** What the servers say of how they are used, and which are not available. */
  instructions(): string;
  /** Whether there is such a method in an era, besides those that the transport answers itself. */
  has(method: string, era: Era): boolean;
  /** Handles a call. Throws or rejects with an RpcError or a ToolServerError. */
  handle(call: ClientCall): Promise<JsonObject>;
  /** A server sent a notification, on the stream of this call if it is known. */
  onNotification(upstream: Upstream, method: string, params: JsonObject, call: ClientCall | undefined): void;
}

export interface HubOptions {
  readonly info: Implementation;
  readonly upstreams: () => readonly Upstream[];
  /** Whether a server that needs a sign-in offers a tool for it. */
  readonly offersSignIn: boolean;
  readonly notices: Notices;
}

type Method = (call: ClientCall) => Promise<JsonObject>;

/** What clients are told that there is. Servers come and go, so it is all of it at all times. */
const capabilities: JsonObject = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};

export function createHub({ info, upstreams, offersSignIn, notices }: HubOptions): Hub {
  const routes = createResourceRoutes(upstreams);
  const logLimit = createLogLimit<Upstream>();
  const common: Readonly<Record<string, Method>> = {
    "tools/list": onePage(({ era }) => listTools(upstreams(), era, offersSignIn)),
    "tools/call": (call) => callTool(upstreams(), routes, call, offersSignIn),
    "prompts/list": onePage(() => listPrompts(upstreams())),
    "prompts/get": (call) => getPrompt(upstreams(), routes, call),
    "resources/list": onePage(async () => ({ resources: [...(await routes.list()), statusResource] })),
    "resources/templates/list": onePage(async () => ({ resourceTemplates: await routes.listTemplates() })),
    "resources/read": async (call) =>
      call.params.uri === statusUri ? readStatus(upstreams()) : readResource(routes, call),
    "completion/complete": (call) => complete(upstreams(), routes, call),
  };
  const legacy: Readonly<Record<string, Method>> = {
    ping: async () => ({}),
    "resources/subscribe": (call) => subscribeResource(routes, call),
    "resources/unsubscribe": (call) => unsubscribeResource(call),
    "logging/setLevel": async ({ params: { level }, session }) => {
      if (!isLogLevel(level)) throw new RpcError(rpcCodes.invalidParams, "level must be one of debug to emergency.");
      session?.setLogLevel(level);
      return {};
    },
  };
  const tables: Readonly<Record<Era, Readonly<Record<string, Method>>>> = {
    legacy: { ...common, ...legacy },
    modern: common,
  };

  const log = (upstream: Upstream, params: JsonObject, call: ClientCall | undefined): void => {
    const { level, logger } = params;
    if (!isLogLevel(level)) return;
    const told = {
      ...params,
      logger: typeof logger === "string" && logger !== "" ? `${upstream.name}/${logger}` : upstream.name,
    };
    if (call === undefined) {
      const leftOut = logLimit.pass(upstream);
      if (leftOut === undefined) return;
      const data = `${leftOut} messages of this server were left out: it says more than all clients can be told.`;
      if (leftOut > 0) notices.onLog("warning", { level: "warning", logger: upstream.name, data });
      notices.onLog(level, told);
      return;
    }
    const least = call.logLevel ?? (call.era === "legacy" ? "debug" : undefined);
    if (least !== undefined && isLevelAtLeast(level, least)) call.notify("notifications/message", told);
  };

  return {
    info,
    routes,
    capabilities,
    instructions() {
      const parts = upstreams().flatMap(({ name, description }) =>
        description?.instructions === undefined ? [] : [`## ${name}\n\n${shortened(description.instructions)}`],
      );
      const intro = "Tools and prompts of several servers, named server__name.";
      return [intro, unavailableText(upstreams()) ?? [], ...parts].flat().join("\n\n");
    },
    has: (method, era) => Object.hasOwn(tables[era], method),
    handle(call) {
      const table = tables[call.era];
      const method = Object.hasOwn(table, call.method) ? table[call.method] : undefined;
      if (method === undefined) throw methodNotFound(call.method);
      return method(call);
    },
    onNotification(upstream, method, params, call) {
      if (method === "notifications/message") log(upstream, params, call);
      else if (method === "notifications/resources/updated" && typeof params.uri === "string") {
        notices.onResourceUpdated(upstream.name, params.uri);
      } else if (method === "notifications/elicitation/complete" && typeof params.elicitationId === "string") {
        notices.onVisitCompleted(params.elicitationId, params);
      }
    },
  };
}

/** How much of what a server says of its use is passed on, in characters: every client gets that of all servers at once. */
const longestInstructions = 16_384;

function shortened(text: string): string {
  return text.length > longestInstructions ? `${text.slice(0, longestInstructions)}…` : text;
}

/** That a method does not exist; over HTTP, in the newer era, with 404. */
export function methodNotFound(method: string): RpcError {
  return new RpcError(rpcCodes.methodNotFound, `There is no method ${quoted(method)}.`, { status: 404 });
}

/** A list that is one page, so that there is no cursor to go on from. */
function onePage(list: Method): Method {
  return async (call) => {
    if (call.params.cursor === undefined) return list(call);
    throw new RpcError(rpcCodes.invalidParams, "The cursor is unknown: the gateway gives its lists in one page.");
  };
}
