import { type JsonObject, RpcError, rpcCodes } from "@wirescope/tool-server/internal";
import { exposedName } from "../catalogue/exposed-name.js";
import type { Offered } from "../catalogue/offered.js";
import type { ClientCall } from "../client-call.js";
import type { Upstream } from "../servers/upstream.js";

const original = "sign_in";

/**
 * The tools that take the place of those of servers that need a sign-in. Such a server lists none, so a client would have nothing
 * to call, and nobody would be asked to sign in.
 */
export function signInTools(upstreams: readonly Upstream[]): Offered[] {
  return upstreams.flatMap((upstream) => {
    if (failureOf(upstream) === undefined) return [];
    const name = nameFor(upstream);
    const definition = {
      name,
      title: `Sign in to ${upstream.name}`,
      description: `Lets the user sign in to the server ${upstream.name}, whose tools are not available until then. Waits for the user.`,
      inputSchema: { type: "object", properties: {} },
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    };
    return [{ name, original, definition }];
  });
}

/** With the name of the server even if its own tools are offered without: another server may need a sign-in too. */
function nameFor({ name }: Upstream): string {
  return exposedName(name, original);
}

/**
 * What a call of such a tool gives once the server is connected; undefined if the name is another. Throws an RpcError with
 * SIGN_IN_NEEDED until then, for which the gateway lets the user sign in and makes the call again.
 */
export function callSignInTool(upstreams: readonly Upstream[], name: string, call: ClientCall): JsonObject | undefined {
  const upstream = upstreams.find((each) => name === nameFor(each));
  if (upstream === undefined) return undefined;
  const server = upstream.name;
  call.setRoute(server, original);
  const failure = failureOf(upstream);
  if (failure !== undefined) {
    throw new RpcError(rpcCodes.failed, failure, { data: { reason: "SIGN_IN_NEEDED", server } });
  }
  if (upstream.status().state !== "READY") return undefined;
  return { content: [{ type: "text", text: `You are signed in to ${server}. Its tools are available now.` }] };
}

/** Why a server cannot be used, if that is for the lack of a sign-in. */
function failureOf(upstream: Upstream): string | undefined {
  const { state, failure } = upstream.status();
  return state !== "READY" && failure?.code === "SIGN_IN_NEEDED" ? upstream.redact(failure.message) : undefined;
}
