import { isObject, type JsonObject, RpcError, rpcCodes } from "@wirescope/tool-server/internal";
import { definitionsOf } from "../catalogue/offered.js";
import type { ClientCall } from "../client-call.js";
import type { Upstream } from "../servers/upstream.js";
import { findOffered } from "./find-offered.js";
import type { ResourceRoutes } from "./resource-routes.js";

/** The prompts of all servers that answered in time. */
export async function listPrompts(upstreams: readonly Upstream[]): Promise<JsonObject> {
  const lists = await Promise.all(upstreams.map((upstream) => upstream.prompts.get()));
  return { prompts: definitionsOf(lists) };
}

/** Gets a prompt of whichever server has it. */
export async function getPrompt(
  upstreams: readonly Upstream[],
  routes: ResourceRoutes,
  call: ClientCall,
): Promise<JsonObject> {
  const { params } = call;
  const { name } = params;
  if (typeof name !== "string") throw new RpcError(rpcCodes.invalidParams, "A prompt needs its name, as a string.");
  const { upstream, item } = await findOffered(upstreams, "prompts", name);
  call.setRoute(upstream.name, item.original);
  const result = await upstream.forward(call, { method: "prompts/get", params: { ...params, name: item.original } });
  const messages = Array.isArray(result.messages) ? result.messages : [];
  routes.learn(
    upstream,
    messages.map((message: unknown) => (isObject(message) ? message.content : undefined)),
  );
  return result;
}

/** Completes an argument of a prompt or of a template. */
export async function complete(
  upstreams: readonly Upstream[],
  routes: ResourceRoutes,
  call: ClientCall,
): Promise<JsonObject> {
  const { params } = call;
  const ref = isObject(params.ref) ? params.ref : {};
  if (ref.type === "ref/prompt" && typeof ref.name === "string") {
    const { upstream, item } = await findOffered(upstreams, "prompts", ref.name);
    call.setRoute(upstream.name, item.original);
    const known = { ...params, ref: { ...ref, name: item.original } };
    return completeAt(upstream, known, call);
  }
  if (ref.type === "ref/resource" && typeof ref.uri === "string") {
    const { upstream, uri } = await routes.find(ref.uri);
    call.setRoute(upstream.name, uri);
    return completeAt(upstream, { ...params, ref: { ...ref, uri } }, call);
  }
  throw new RpcError(
    rpcCodes.invalidParams,
    "A completion needs ref: of a prompt with its name, or of a resource with its uri.",
  );
}

/** A server that completes nothing has nothing to say, which is no failure. */
async function completeAt(upstream: Upstream, params: JsonObject, call: ClientCall): Promise<JsonObject> {
  const { description } = upstream;
  if (description !== undefined && description.capabilities.completions === undefined) {
    return { completion: { values: [], hasMore: false } };
  }
  return upstream.forward(call, { method: "completion/complete", params });
}
