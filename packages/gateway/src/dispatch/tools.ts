import { isObject, RpcError, type RpcObject, rpcCodes } from "@wirescope/tool-server/internal";
import type { ClientCall } from "../client-call.js";
import { problemOf } from "../client-message.js";
import { exposedName } from "../exposed-name.js";
import type { Offered, OfferedTool } from "../servers/offered.js";
import { assertParamHeaders, buildParamHeaders } from "../servers/param-headers.js";
import type { GatewayServer } from "../servers/server.js";
import { appUriOf, isForAppsOnly, showsApps, withAppUri } from "./app-resources.js";
import { type Found, findCached, findOffered, loadLists } from "./find-offered.js";
import { definitionsFor } from "./origins.js";
import type { ResourceRoutes } from "./resources.js";
import { type Tasks, taskSupportOf } from "./tasks.js";

/** The tools of all servers that responded in time. */
export async function listTools(
  servers: readonly GatewayServer[],
  routes: ResourceRoutes,
  { era, capabilities }: Pick<ClientCall, "era" | "capabilities">,
  offersSignIn: boolean,
): Promise<RpcObject> {
  const lists = (await loadLists(servers, "tools")).map(({ server, items }) => {
    const shown = items.some(hasApp)
      ? items
          .filter(({ definition }) => showsApps(capabilities) || !isForAppsOnly(definition))
          .map((tool) => withAppUri(tool, (uri) => routes.uriFor(server, uri)))
      : items;
    return { server, items: era === "legacy" ? shown.map((tool) => asLegacyTool(tool, server)) : shown };
  });
  const signIns = offersSignIn ? servers.map((server) => ({ server, items: signInTools(server) })) : [];
  return { tools: definitionsFor(capabilities, [...lists, ...signIns]) };
}

function hasApp({ definition }: Offered): boolean {
  return appUriOf(definition) !== undefined;
}

export async function callTool(
  servers: () => readonly GatewayServer[],
  routes: ResourceRoutes,
  call: ClientCall,
  { offersSignIn, tasks }: { readonly offersSignIn: boolean; readonly tasks: Tasks },
): Promise<RpcObject> {
  const { name, arguments: args } = call.params;
  if (typeof name !== "string") throw new RpcError(rpcCodes.invalidParams, "tools/call requires a string `name`.");
  const all = servers();
  const known = findCached(all, "tools", name);
  const signedIn = known === undefined && offersSignIn ? callSignInTool(all, name, call) : undefined;
  if (signedIn !== undefined) return signedIn;
  const { server, item } = known ?? findForApp(all, call, name) ?? (await findOffered(servers, "tools", name, call));
  const { paramHeaders, original } = item;
  call.setRoute(server.name, original);
  if (call.era === "modern" && call.headers !== undefined) assertParamHeaders(paramHeaders, args, call.headers);
  const headers = paramHeaders.length === 0 ? undefined : buildParamHeaders(paramHeaders, args);
  const plain = { ...call.params, name: original };
  const mayBeTask = call.params.task !== undefined || call.capabilities.extensions !== undefined || item.taskSupport;
  const params = mayBeTask ? tasks.paramsFor(server, item, call, plain) : plain;
  const result = await server.forward(call, { method: "tools/call", params, headers });
  const linked = withRewrittenLinks(result, server, routes);
  const own = mayBeTask || result.resultType === "task" ? tasks.resultOf(server, call, linked) : linked;
  return call.era === "legacy" ? asLegacyResult(own) : own;
}

/** A result whose links identify the server, if another may have the same resources. */
function withRewrittenLinks(result: RpcObject, server: GatewayServer, routes: ResourceRoutes): RpcObject {
  if (!Array.isArray(result.content)) return result;
  const content = routes.rewriteLinks(server, result.content);
  return content === result.content ? result : { ...result, content };
}

/**
 * The tool that an app calls by the server's own name: an app does not know the prefix. Undefined if no server with apps has it, or
 * several have.
 */
function findForApp(servers: readonly GatewayServer[], call: ClientCall, name: string): Found<OfferedTool> | undefined {
  if (!showsApps(call.capabilities)) return undefined;
  const found = servers.flatMap((server) => {
    const tools = server.tools.cached ?? [];
    const item = tools.find(({ original }) => original === name);
    return item !== undefined && tools.some(hasApp) ? [{ server, item }] : [];
  });
  return found.length === 1 ? found[0] : undefined;
}

/** A tool as legacy clients accept it: with an object schema as its output schema, and with its support of legacy tasks. */
function asLegacyTool(tool: OfferedTool, server: GatewayServer): Offered {
  const { outputSchema, ...rest } = tool.definition;
  const isAccepted = outputSchema === undefined || (isObject(outputSchema) && outputSchema.type === "object");
  const definition = isAccepted ? tool.definition : rest;
  const taskSupport = taskSupportOf(server, tool);
  return {
    ...tool,
    definition: taskSupport === undefined ? definition : { ...definition, execution: { taskSupport } },
  };
}

/** Legacy clients accept only objects as structured content; other values are sent as text. */
function asLegacyResult(result: RpcObject): RpcObject {
  if (result.structuredContent === undefined || isObject(result.structuredContent)) return result;
  const { structuredContent, ...rest } = result;
  const content = Array.isArray(rest.content) ? rest.content : [];
  const hasText = content.some((block) => isObject(block) && block.type === "text");
  return hasText ? rest : { ...rest, content: [...content, { type: "text", text: JSON.stringify(structuredContent) }] };
}

const signInName = "sign_in";

/**
 * The tool of a server that needs a sign-in. Such a server lists no tools, so a client would have nothing to call, and the user
 * would never be asked to sign in.
 */
function signInTools(server: GatewayServer): Offered[] {
  if (signInFailure(server) === undefined) return [];
  const name = signInToolName(server);
  const definition = {
    name,
    title: `Sign in to ${server.name}`,
    description: `Asks the user to sign in to server ${server.name}, and waits for them. Its tools are unavailable until then.`,
    inputSchema: { type: "object", properties: {} },
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  };
  return [{ name, original: signInName, definition }];
}

/** Always prefixed, even if the tools of the server are not: another server may need a sign-in too. */
function signInToolName({ name }: GatewayServer): string {
  return exposedName(name, signInName);
}

/**
 * The result of a sign-in tool once the server is connected; undefined if the name is not that of a sign-in tool. Until then it
 * throws an RpcError with SIGN_IN_NEEDED, so that the gateway asks the user to sign in and repeats the call.
 */
function callSignInTool(servers: readonly GatewayServer[], name: string, call: ClientCall): RpcObject | undefined {
  const server = servers.find((each) => name === signInToolName(each));
  if (server === undefined) return undefined;
  call.setRoute(server.name, signInName);
  const failure = signInFailure(server);
  if (failure !== undefined) {
    const problem = problemOf(server.status().failure?.error);
    throw new RpcError(rpcCodes.failed, failure, {
      data: { reason: "SIGN_IN_NEEDED", server: server.name },
      problem: problem && server.redact(problem, "own"),
    });
  }
  if (server.status().state !== "READY") return undefined;
  return { content: [{ type: "text", text: `You are signed in to ${server.name}. Its tools are available now.` }] };
}

/** Why a server is not connected, if the reason is a missing sign-in. */
function signInFailure(server: GatewayServer): string | undefined {
  const { state, failure } = server.status();
  return state !== "READY" && failure?.code === "SIGN_IN_NEEDED" ? server.redact(failure.message, "own") : undefined;
}
