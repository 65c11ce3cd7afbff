import { type Era, isObject, type JsonObject, RpcError, rpcCodes } from "@wirescope/tool-server/rpc";
import { definitionsOf, type OfferedTool } from "../catalogue/offered.js";
import { assertParamHeaders, buildParamHeaders } from "../catalogue/param-headers.js";
import type { Caller } from "../clients/caller.js";
import type { Upstream } from "../upstream/upstream.js";
import { type Found, findKnown, findOffered } from "./find-offered.js";
import type { ResourceRoutes } from "./resource-routes.js";

/** The tools of all servers that answered in time. */
export async function listTools(upstreams: readonly Upstream[], era: Era): Promise<JsonObject> {
  const lists = await Promise.all(upstreams.map((upstream) => upstream.tools.get()));
  const tools = definitionsOf(lists);
  return { tools: era === "legacy" ? tools.map(asLegacyTool) : tools };
}

/** Calls a tool of whichever server has it. Throws an RpcError, too: where the tool is known, the relay's is the only promise. */
export function callTool(
  upstreams: readonly Upstream[],
  routes: ResourceRoutes,
  params: JsonObject,
  caller: Caller,
): Promise<JsonObject> {
  const { name } = params;
  if (typeof name !== "string")
    throw new RpcError(rpcCodes.invalidParams, "A call of a tool needs its name, as a text.");
  const known = findKnown(upstreams, "tools", name);
  if (known !== undefined) return callFound(known, routes, params, caller);
  return findOffered(upstreams, "tools", name).then((found) => callFound(found, routes, params, caller));
}

function callFound(
  { upstream, item }: Found<OfferedTool>,
  routes: ResourceRoutes,
  params: JsonObject,
  caller: Caller,
): Promise<JsonObject> {
  caller.story.name = item.original;
  const { paramHeaders, original } = item;
  const args = params.arguments;
  if (caller.era === "modern" && caller.headers !== undefined) assertParamHeaders(paramHeaders, args, caller.headers);
  const headers = paramHeaders.length === 0 ? undefined : buildParamHeaders(paramHeaders, args);
  const finish = (result: JsonObject): JsonObject => {
    routes.learn(upstream, result.content);
    return caller.era === "legacy" ? asLegacyResult(result) : result;
  };
  return upstream.call({ method: "tools/call", params: { ...params, name: original }, headers, finish }, caller);
}

/** A client of the older era takes only schemas of objects for what a tool gives. */
function asLegacyTool(tool: JsonObject): JsonObject {
  const { outputSchema, ...rest } = tool;
  return outputSchema === undefined || (isObject(outputSchema) && outputSchema.type === "object") ? tool : rest;
}

/** A client of the older era takes only objects as structured content; what else there is, it reads as text. */
function asLegacyResult(result: JsonObject): JsonObject {
  if (result.structuredContent === undefined || isObject(result.structuredContent)) return result;
  const { structuredContent, ...rest } = result;
  const content = Array.isArray(rest.content) ? rest.content : [];
  const hasText = content.some((block) => isObject(block) && block.type === "text");
  return hasText ? rest : { ...rest, content: [...content, { type: "text", text: JSON.stringify(structuredContent) }] };
}
