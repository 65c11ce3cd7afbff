import { ToolServerError } from "@wirescope/tool-server";
import {
  type Era,
  type Implementation,
  isLogLevel,
  quoted,
  RpcError,
  type RpcNotification,
  type RpcObject,
  rpcCodes,
} from "@wirescope/tool-server/internal";
import type { ClientCall } from "../client-call.js";
import type { GatewayServer } from "../servers/server.js";
import { tasksExtension } from "../task-states.js";
import { declaresExtensions, findMethodRoute, forwardNotification } from "./extension-methods.js";
import { instructionsOf, instructionsResources, instructionsUri, readInstructions } from "./instructions.js";
import { mergeExtensions } from "./merge-capabilities.js";
import { complete, getPrompt, listPrompts } from "./prompts.js";
import {
  createResourceRoutes,
  type ResourceRoutes,
  readResource,
  subscribeResource,
  unsubscribeResource,
} from "./resources.js";
import { getSkill, listSkills, readDirectory } from "./skills.js";
import { readStatus, statusResource, statusUri } from "./status.js";
import type { Tasks } from "./tasks.js";
import { callTool, listTools } from "./tools.js";

/** All servers as one: a call is forwarded to the server that has the tool, prompt or resource. */
export interface MergedServer {
  readonly info: Implementation;
  readonly routes: ResourceRoutes;
  /** What all servers together offer to a client of this era, with the extensions that connected servers declare. */
  capabilities(era: Era): RpcObject;
  /** The tasks of servers, and the clients that they belong to. */
  readonly tasks: Tasks;
  /** A line for each server, then the descriptions and instructions of the connected ones. */
  instructions(): string;
  /** Whether a method exists in this era, other than those that the endpoint handles itself. */
  has(method: string, era: Era): boolean;
  /** The same, or whether a server may have it as an extension method. */
  mayHave(method: string, era: Era): boolean;
  /** Handles a call. Throws or rejects with an RpcError or a ToolServerError. */
  handle(call: ClientCall): Promise<RpcObject>;
  /** Forwards an extension notification to the servers that it concerns. `capabilities` are the client's, if known. */
  notify(notification: RpcNotification, capabilities: RpcObject | undefined): void;
}

export interface MergedServerOptions {
  readonly info: Implementation;
  readonly servers: () => readonly GatewayServer[];
  /** Whether a server that needs a sign-in offers a tool for it. */
  readonly offersSignIn: boolean;
  readonly tasks: Tasks;
  /** Whom users of clients ask about what only the operator can fix. */
  readonly contact: () => string | undefined;
  readonly onDefect: (error: unknown) => void;
}

type Method = (call: ClientCall) => Promise<RpcObject>;

/** Always declared in full, because servers may connect later, and a client may read the capabilities only once. */
const capabilities: RpcObject = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};

const legacyTaskCapability: RpcObject = { list: {}, cancel: {}, requests: { tools: { call: {} } } };

export function createMergedServer({
  info,
  servers,
  offersSignIn,
  tasks,
  contact,
  onDefect,
}: MergedServerOptions): MergedServer {
  const routes = createResourceRoutes(servers);
  const offersSignInTo = ({ account }: ClientCall): boolean => offersSignIn && !account.isForwarded;
  const common: Readonly<Record<string, Method>> = {
    "tools/list": onePage((call) => listTools(servers(), routes, call, offersSignInTo(call))),
    "tools/call": (call) => callTool(servers, routes, call, { offersSignIn: offersSignInTo(call), tasks }),
    "prompts/list": onePage((call) => listPrompts(servers(), call)),
    "prompts/get": (call) => getPrompt(servers, routes, call),
    "resources/list": onePage(async (call) => ({
      resources: [...(await routes.list("resources", call)), statusResource, ...instructionsResources(servers())],
    })),
    "resources/templates/list": onePage(async (call) => ({ resourceTemplates: await routes.list("templates", call) })),
    "resources/read": async (call) => {
      if (call.params.uri === statusUri) return readStatus(servers(), contact());
      return call.params.uri === instructionsUri ? readInstructions(servers()) : readResource(routes, call);
    },
    "resources/directory/read": (call) => readDirectory(routes, call),
    "skills/list": onePage(() => listSkills(servers(), routes)),
    "skills/get": (call) => getSkill(routes, call),
    "completion/complete": (call) => complete(servers, routes, call),
  };
  const legacy: Readonly<Record<string, Method>> = {
    ping: async () => ({}),
    "resources/subscribe": (call) => subscribeResource(routes, call),
    "resources/unsubscribe": (call) => unsubscribeResource(call),
    "logging/setLevel": async ({ params: { level }, session }) => {
      if (!isLogLevel(level))
        throw new RpcError(rpcCodes.invalidParams, 'logging/setLevel requires a `level` from "debug" to "emergency".');
      session?.setLogLevel(level);
      return {};
    },
  };
  const tables: Readonly<Record<Era, Readonly<Record<string, Method>>>> = {
    legacy: { ...common, ...legacy, ...tasks.legacy },
    modern: { ...common, ...tasks.modern },
  };

  /** Whether a method can belong to an extension: it exists in neither era, and a server declares extensions. */
  const mayBeExtension = (method: string): boolean =>
    !coreMethods.has(method) &&
    !Object.values(tables).some((table) => Object.hasOwn(table, method)) &&
    servers().some(declaresExtensions);
  const forwardExtension: Method = async (call) => {
    const route = mayBeExtension(call.method) ? await findMethodRoute(servers(), routes, call) : undefined;
    if (route === undefined) throw methodNotFound(call.method);
    call.setRoute(route.server.name, route.name);
    try {
      return await route.server.forward(call, { method: call.method, params: route.params });
    } catch (error) {
      const isUnknown = ToolServerError.is(error) && error.details.rpcCode === rpcCodes.methodNotFound;
      throw isUnknown ? methodNotFound(call.method) : error;
    }
  };

  return {
    info,
    routes,
    tasks,
    capabilities(era) {
      const { [tasksExtension]: _, ...extensions } = mergeExtensions(servers());
      if (era === "modern") return { ...capabilities, extensions: { ...extensions, [tasksExtension]: {} } };
      const declared = Object.keys(extensions).length === 0 ? {} : { extensions };
      return { ...capabilities, tasks: legacyTaskCapability, ...declared };
    },
    instructions: () => instructionsOf(servers(), contact()),
    has: (method, era) => Object.hasOwn(tables[era], method),
    mayHave: (method, era) => Object.hasOwn(tables[era], method) || mayBeExtension(method),
    handle(call) {
      const table = tables[call.era];
      const method = Object.hasOwn(table, call.method) ? table[call.method] : undefined;
      return method === undefined ? forwardExtension(call) : method(call);
    },
    notify(notification, capabilities) {
      forwardNotification(servers(), routes, notification, capabilities).catch(onDefect);
    },
  };
}

/** Core protocol methods that the gateway handles elsewhere. */
const coreMethods: ReadonlySet<string> = new Set(["initialize", "server/discover", "subscriptions/listen"]);

/** The error for an unknown method; for modern clients over HTTP, with status 404. */
export function methodNotFound(method: string): RpcError {
  return new RpcError(rpcCodes.methodNotFound, `Method ${quoted(method)} does not exist.`, { status: 404 });
}

/** A list in one page: it returns no cursor, so it accepts none. */
function onePage(list: Method): Method {
  return async (call) => {
    if (call.params.cursor === undefined) return list(call);
    throw new RpcError(rpcCodes.invalidParams, "The cursor is unknown: the gateway returns its lists in one page.");
  };
}
