import { type Era, isObject, type JsonObject, RpcError, rpcCodes } from "@wirescope/tool-server/internal";
import { definitionsOf } from "../catalogue/offered.js";
import { assertParamHeaders, buildParamHeaders } from "../catalogue/param-headers.js";
import type { ClientCall } from "../client-call.js";
import type { Upstream } from "../servers/upstream.js";
import { findKnown, findOffered } from "./find-offered.js";
import type { ResourceRoutes } from "./resource-routes.js";
import { callSignInTool, signInTools } from "./sign-in-tool.js";

/** The tools of all servers that answered in time. */
export async function listTools(upstreams: readonly Upstream[], era: Era, offersSignIn: boolean): Promise<JsonObject> {
  const lists = await Promise.all(upstreams.map((upstream) => upstream.tools.get()));
  const tools = definitionsOf([...lists, offersSignIn ? signInTools(upstreams) : undefined]);
  return { tools: era === "legacy" ? tools.map(asLegacyTool) : tools };
}

/** Calls a tool of the server that has it. */
export async function callTool(
  upstreams: readonly Upstream[],
  routes: ResourceRoutes,
  call: ClientCall,
  offersSignIn: boolean,
): Promise<JsonObject> {
  const { name, arguments: args } = call.params;
  if (typeof name !== "string")
    throw new RpcError(rpcCodes.invalidParams, "A call of a tool needs its name, as a string.");
  const known = findKnown(upstreams, "tools", name);
  const signedIn = known === undefined && offersSignIn ? callSignInTool(upstreams, name, call) : undefined;
  if (signedIn !== undefined) return signedIn;
  const { upstream, item } = known ?? (await findOffered(upstreams, "tools", name));
  const { paramHeaders, original } = item;
  call.setRoute(upstream.name, original);
  if (call.era === "modern" && call.headers !== undefined) assertParamHeaders(paramHeaders, args, call.headers);
  const headers = paramHeaders.length === 0 ? undefined : buildParamHeaders(paramHeaders, args);
  const params = { ...call.params, name: original };
  const result = await upstream.forward(call, { method: "tools/call", params, headers });
  routes.learn(upstream, result.content);
  return call.era === "legacy" ? asLegacyResult(result) : result;
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
