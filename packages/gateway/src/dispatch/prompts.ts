import { isObject, RpcError, type RpcObject, rpcCodes } from "@wirescope/tool-server/internal";
import type { ClientCall } from "../client-call.js";
import type { GatewayServer } from "../servers/server.js";
import { findOffered, loadLists } from "./find-offered.js";
import { definitionsFor } from "./origins.js";
import type { ResourceRoutes } from "./resources.js";

/** The prompts of all servers that responded in time. */
export async function listPrompts(
  servers: readonly GatewayServer[],
  { capabilities }: Pick<ClientCall, "capabilities">,
): Promise<RpcObject> {
  return { prompts: definitionsFor(capabilities, await loadLists(servers, "prompts")) };
}

export async function getPrompt(
  servers: () => readonly GatewayServer[],
  routes: ResourceRoutes,
  call: ClientCall,
): Promise<RpcObject> {
  const { params } = call;
  const { name } = params;
  if (typeof name !== "string") throw new RpcError(rpcCodes.invalidParams, "prompts/get requires a string `name`.");
  const { server, item } = await findOffered(servers, "prompts", name, call);
  call.setRoute(server.name, item.original);
  const result = await server.forward(call, { method: "prompts/get", params: { ...params, name: item.original } });
  return withRewrittenLinks(result, server, routes);
}

/** A prompt whose links identify the server, if another may have the same resources. */
function withRewrittenLinks(result: RpcObject, server: GatewayServer, routes: ResourceRoutes): RpcObject {
  if (!Array.isArray(result.messages)) return result;
  const messages = result.messages.map((message: unknown) => {
    if (!isObject(message)) return message;
    const [content] = routes.rewriteLinks(server, [message.content]);
    return content === message.content ? message : { ...message, content };
  });
  return { ...result, messages };
}

/** Completes an argument of a prompt or a resource template. */
export async function complete(
  servers: () => readonly GatewayServer[],
  routes: ResourceRoutes,
  call: ClientCall,
): Promise<RpcObject> {
  const { params } = call;
  const ref = isObject(params.ref) ? params.ref : {};
  if (ref.type === "ref/prompt" && typeof ref.name === "string") {
    const { server, item } = await findOffered(servers, "prompts", ref.name, call);
    call.setRoute(server.name, item.original);
    const known = { ...params, ref: { ...ref, name: item.original } };
    return completeAt(server, known, call);
  }
  if (ref.type === "ref/resource" && typeof ref.uri === "string") {
    const { server, uri } = await routes.find(ref.uri);
    call.setRoute(server.name, uri);
    return completeAt(server, { ...params, ref: { ...ref, uri } }, call);
  }
  throw new RpcError(
    rpcCodes.invalidParams,
    "completion/complete requires a `ref` to a prompt with a `name`, or to a resource with a `uri`.",
  );
}

/** A server without the capability completes nothing, which is not a failure. */
async function completeAt(server: GatewayServer, params: RpcObject, call: ClientCall): Promise<RpcObject> {
  const description = server.describe();
  if (description !== undefined && description.capabilities.completions === undefined) {
    return { completion: { values: [], hasMore: false } };
  }
  return server.forward(call, { method: "completion/complete", params });
}
