import type { MessageOrigin } from "@wirescope/tool-server";
import { Canceller, isObject, RpcError, type RpcObject, rpcCodes } from "@wirescope/tool-server/internal";
import { ClientCall } from "../client-call.js";
import { extensionParams, hasExtensions, isExtensionRequest } from "../extension-messages.js";
import { relatedTaskKey, relatedTaskOf, tasksExtension } from "../task-states.js";
import type { CallsInFlight } from "./server-calls.js";

/** A request from a legacy server to a client, such as an elicitation. */
export interface ServerRequest {
  readonly method: string;
  readonly params: RpcObject | undefined;
  readonly origin: Pick<MessageOrigin, "call" | "signal">;
}

/** The capabilities that the gateway declares to servers. Whether a client has one is checked for each request. */
export const offeredCapabilities = {
  elicitation: { form: {}, url: {} },
  sampling: { context: {}, tools: {} },
  roots: {},
  extensions: {
    // Servers offer apps only to a client that declares this, and legacy servers read it only once.
    "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] as string[] },
    // Required to subscribe to tasks. Each call declares its own client's capabilities, and legacy servers ignore it.
    "io.modelcontextprotocol/tasks": {},
  },
} as const;

const forwardedMethods: ReadonlySet<string> = new Set(["elicitation/create", "sampling/createMessage", "roots/list"]);

/**
 * Forwards a request from a server to the client whose call it belongs to. Over HTTP that is the call on whose stream it was sent.
 * On a shared connection it is the only client with calls in flight that supports the request; a modern client receives it in the
 * result of its call, so it must have only one. A call whose client is being asked already is left out, because a tool nearly always
 * asks one question at a time. Rejects with an RpcError for the server if there is no such client.
 */
export async function forwardServerRequest(
  server: string,
  request: ServerRequest,
  calls: CallsInFlight,
): Promise<RpcObject> {
  const { method, params, origin } = request;
  if (!forwardedMethods.has(method) && !isExtensionRequest(method)) {
    throw new RpcError(rpcCodes.methodNotFound, `The gateway does not forward ${method}.`);
  }
  const possible = callsOf(server, request, calls);
  // The newest: most tools ask when they start.
  const call = possible[possible.length - 1] as ClientCall;
  // It may belong to any of them: none of them is silent while the client responds, and it is cancelled when the last one ends.
  const all = new Canceller();
  const onEnd = (): void => {
    if (possible.every(({ aborted }) => aborted)) all.cancel();
  };
  for (const each of possible) {
    each.openRequests += 1;
    each.addEventListener("abort", onEnd);
  }
  onEnd();
  call.openQuestions += 1;
  try {
    const own = params && (isExtensionRequest(method) ? extensionParams(params) : clientParams(params, call));
    return await call.ask(method, own, origin.signal, all);
  } finally {
    call.openQuestions -= 1;
    for (const each of possible) {
      each.openRequests -= 1;
      each.activeAt = performance.now();
      each.removeEventListener("abort", onEnd);
    }
  }
}

/** The calls that a request may belong to, at least one: all of one client, in the order in which they started. */
function callsOf(
  server: string,
  { method, params, origin }: ServerRequest,
  calls: CallsInFlight,
): readonly ClientCall[] {
  // A modern client receives requests in a result, which can contain only core protocol requests.
  const isExtension = isExtensionRequest(method);
  const isCapable = ({ capabilities, era }: ClientCall): boolean =>
    supportsRequest(capabilities, method, params) && (era === "legacy" || !isExtension);
  const related = origin.call;
  if (related !== undefined) {
    // It must not go to another client that happens to have a call in flight.
    if (!(related instanceof ClientCall) || !calls.has(related))
      throw new RpcError(rpcCodes.failed, "The call that this request belongs to has ended.");
    if (isCapable(related)) return [related];
    related.missingCapabilities = requiredCapabilities(method, params);
    throw new RpcError(rpcCodes.methodNotFound, `The client that made this call does not support ${method}.`);
  }
  const taskId = relatedTaskOf(params);
  const candidates = taskId === undefined ? [...calls] : [...calls].filter((call) => isAboutTask(call, taskId));
  const able = candidates.filter(isCapable);
  const unasked = able.filter(({ openQuestions }) => openQuestions === 0);
  const capable = unasked.length > 0 ? unasked : able;
  const [only] = capable;
  const [candidate] = candidates;
  if (candidate !== undefined && candidates.length === 1 && only === undefined)
    candidate.missingCapabilities = requiredCapabilities(method, params);
  if (newestOfOneClient(capable) !== undefined) return capable;
  const subject = `${method} of server ${JSON.stringify(server)}`;
  throw only === undefined
    ? new RpcError(
        rpcCodes.methodNotFound,
        `${subject} cannot be forwarded: no client with a call in flight supports it.`,
      )
    : new RpcError(
        rpcCodes.failed,
        `${subject} cannot be forwarded: ${capable.length} calls are in flight, and on this connection nothing identifies ` +
          "the one that it belongs to. Call again when no other call is in flight, or connect the server by HTTP.",
      );
}

/**
 * The newest of these calls if all belong to one client: calls of one session, or a single call. Modern clients may share an account.
 */
export function newestOfOneClient(calls: readonly ClientCall[]): ClientCall | undefined {
  const [first] = calls;
  const isOne =
    calls.length === 1 || (first?.session !== undefined && calls.every(({ session }) => session === first.session));
  return isOne ? calls.at(-1) : undefined;
}

/** Whether a call waits for the result of a task: meanwhile a legacy server may send requests about the task. */
function isAboutTask({ method, route }: ClientCall, taskId: string): boolean {
  return method === "tasks/result" && route?.name === taskId;
}

/** Removes the server's `_meta`, which a client would read as the gateway's. */
export function withoutMeta({ _meta, ...params }: RpcObject): RpcObject {
  return params;
}

/** The parameters of a request for the client: a related task has the id that the client uses. */
function clientParams(params: RpcObject, call: ClientCall): RpcObject {
  const taskId = relatedTaskOf(params);
  const own = withoutMeta(params);
  if (taskId === undefined || !isAboutTask(call, taskId) || call.era !== "legacy") return own;
  return { ...own, _meta: { [relatedTaskKey]: { taskId: call.params.taskId } } };
}

/** The capabilities that a client needs to handle a server request; undefined if the gateway does not know the request. */
export function requiredCapabilities(method: string, params: RpcObject | undefined): RpcObject | undefined {
  switch (method) {
    case "elicitation/create":
      return { elicitation: params?.mode === "url" ? { url: {} } : { form: {} } };
    case "sampling/createMessage":
      return { sampling: params?.tools === undefined && params?.toolChoice === undefined ? {} : { tools: {} } };
    case "roots/list":
      return { roots: {} };
    default:
      return undefined;
  }
}

/** Whether a client with these capabilities can handle a server request. */
export function supportsRequest(capabilities: RpcObject, method: string, params: RpcObject | undefined): boolean {
  const { elicitation, sampling, roots } = capabilities;
  switch (method) {
    case "elicitation/create":
      if (!isObject(elicitation)) return false;
      // A client that names no mode supports forms, the original mode.
      return params?.mode === "url" ? "url" in elicitation : "form" in elicitation || !("url" in elicitation);
    case "sampling/createMessage":
      if (!isObject(sampling)) return false;
      return (params?.tools === undefined && params?.toolChoice === undefined) || "tools" in sampling;
    case "roots/list":
      return isObject(roots);
    default:
      // The gateway does not know which extension a method belongs to.
      return isExtensionRequest(method) && hasExtensions(capabilities);
  }
}

/**
 * The client capabilities that are forwarded to a modern server with each request, including unknown ones. A legacy client requests a
 * task with each call; a modern one declares support for tasks.
 */
export function forwardedCapabilities({ era, params, capabilities }: ClientCall): RpcObject {
  if (era === "modern") return capabilities;
  const { tasks, extensions, ...rest } = capabilities;
  const requestsTask = isObject(params.task) || typeof params.taskId === "string";
  if (extensions === undefined && !requestsTask) return rest;
  const { [tasksExtension]: _, ...others } = isObject(extensions) ? extensions : {};
  return { ...rest, extensions: requestsTask ? { ...others, [tasksExtension]: {} } : others };
}
